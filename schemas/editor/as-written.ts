/**
 * Files as people write them, before `iamctl` has read them: a reference (`${env:…}`, `${var:…}`) stands where its value will,
 * an entry of a built-in document names only what it changes, and an overlay names only what differs.
 */

import { isObject, type JsonSchema } from '../json-schema.ts'
import type { Kind } from '../kind.ts'
import { complete } from '../normalize.ts'
import { seeds } from '../realm/seeds.ts'

/** Words about a field, which stay outside of the choice. */
const annotations = new Set(['description', 'default', 'examples', 'title'])

const reference: JsonSchema = { type: 'string', pattern: '\\$\\{' }

const typesOf = ({ type }: JsonSchema): readonly unknown[] =>
  type === undefined ? [] : [type].flat()

/** Whether text is right here whatever it says, so that a reference is. */
const takesAnyText = (schema: JsonSchema): boolean =>
  typesOf(schema).includes('string') &&
  !['minLength', 'maxLength', 'pattern', 'format', 'enum', 'const'].some((word) => word in schema)

const orReference = (schema: JsonSchema): JsonSchema => {
  if (takesAnyText(schema)) return schema
  const about = Object.entries(schema).filter(([word]) => annotations.has(word))
  const rules = Object.entries(schema).filter(([word]) => !annotations.has(word))
  return { ...Object.fromEntries(about), anyOf: [Object.fromEntries(rules), reference] }
}

/** Values of x-alias are other spellings of what the enum names. */
const spellings = (schema: JsonSchema): JsonSchema => {
  const others = Object.keys(schema['x-alias'] ?? {})
  return schema.enum && others.length > 0
    ? { ...schema, enum: [...new Set([...schema.enum, ...others])] }
    : schema
}

const mapValues = <T>(
  record: Readonly<Record<string, T>>,
  change: (value: T, name: string) => T,
): Record<string, T> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]))

/** A value inside a document. */
export const valueAsWritten = (schema: JsonSchema): JsonSchema => {
  if ('$ref' in schema) return schema
  const { properties, items, additionalProperties, patternProperties, oneOf, ...rest } = schema
  return orReference(
    spellings({
      ...rest,
      ...(properties ? { properties: mapValues(properties, valueAsWritten) } : {}),
      ...(items ? { items: valueAsWritten(items) } : {}),
      ...(patternProperties
        ? { patternProperties: mapValues(patternProperties, valueAsWritten) }
        : {}),
      ...(oneOf ? { oneOf: oneOf.map(valueAsWritten) } : {}),
      ...(additionalProperties === undefined
        ? {}
        : {
            additionalProperties: isObject(additionalProperties)
              ? valueAsWritten(additionalProperties as JsonSchema)
              : additionalProperties,
          }),
    }),
  )
}

/** What an entry names a built-in document by; its other fields are those that the document was born with. */
const namesOfSeeds = (kind: Kind): JsonSchema[] =>
  seeds
    .filter((seed) => seed.kind === kind)
    .map((seed) => {
      const doc = complete(kind, seed.doc)
      const named = kind.keyFields.filter((field) => doc[field] !== undefined)
      return {
        properties: Object.fromEntries(named.map((field) => [field, { const: doc[field] }])),
        required: named.filter((field) => !('default' in (kind.spec.properties?.[field] ?? {}))),
      }
    })

/** The fields that an entry must have: of a built-in document, or of one that was it, its name alone. */
export const requiredAsWritten = (kind: Kind, required: readonly string[]): JsonSchema => {
  const born = namesOfSeeds(kind)
  const own = required.filter((field) => kind.keyFields.includes(field))
  if (born.length === 0 || own.length === required.length) return { required }
  return {
    required: own,
    anyOf: [{ required }, { required: ['renamedFrom'] }, ...born],
  }
}
