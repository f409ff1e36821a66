/**
 * The canonical form of a document. Compact: unset values and values equal to their default are left out, sets
 * are sorted, fields are in the order of the schema. A field that a later version adds with a default therefore
 * changes neither the stored form nor the content hash of what exists.
 */

import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Doc, isObject, type JsonSchema } from './json-schema.ts'
import type { Kind } from './kind.ts'
import { own } from './own.ts'
import { propertySchema } from './walk.ts'

/** Sorted by the text of the items, each of which is written once; without repetitions, of which a file may hold some. */
const setOfTexts = (items: readonly unknown[]): unknown[] => {
  const byText = new Map(items.map((item) => [JSON.stringify(item), item]))
  return [...byText.keys()].sort().map((text) => byText.get(text))
}

/** Whether a field belongs to the document itself, and not only to its REST form. */
export const isStored = (schema: JsonSchema): boolean =>
  !schema.readOnly && schema['x-only'] !== 'rest' && !schema['x-secret']

interface Field {
  readonly schema: JsonSchema
  readonly isStored: boolean
  /** In its neat form; undefined where there is none. */
  readonly default: unknown
}

const fieldOf = (schema: JsonSchema): Field => ({
  schema,
  isStored: isStored(schema),
  default: 'default' in schema ? tidy(schema, schema.default) : undefined,
})

const fieldsOfSchemas = new WeakMap<JsonSchema, ReadonlyMap<string, Field>>()

/** The fields that a schema declares, in its order; found out once, because documents are many. */
const fieldsOf = (schema: JsonSchema): ReadonlyMap<string, Field> => {
  const known = fieldsOfSchemas.get(schema)
  if (known) return known
  const fields = new Map(
    Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, fieldOf(inner)]),
  )
  fieldsOfSchemas.set(schema, fields)
  return fields
}

const equal = (a: unknown, b: unknown): boolean =>
  Object.is(a, b) || (typeof b === 'object' && isDeepStrictEqual(a, b))

const tidyObject = (
  schema: JsonSchema,
  value: Record<string, unknown>,
): Record<string, unknown> => {
  const fields = fieldsOf(schema)
  const tidied: Record<string, unknown> = {}
  const add = (name: string, field: Field): void => {
    const inner = value[name]
    if (inner === undefined || inner === null || !field.isStored) return
    const neat = tidy(field.schema, inner)
    if (field.default === undefined || !equal(neat, field.default)) tidied[name] = neat
  }
  for (const [name, field] of fields) add(name, field)
  const others = Object.keys(value).filter((name) => !fields.has(name))
  for (const name of others.sort()) {
    const described = propertySchema(schema, name)
    if (described) add(name, fieldOf(described))
    else if (value[name] !== undefined && value[name] !== null) tidied[name] = value[name]
  }
  return tidied
}

const tidy = (schema: JsonSchema, value: unknown): unknown => {
  if (Array.isArray(value)) {
    const { items } = schema
    const neat = items ? value.map((item) => tidy(items, item)) : value
    return schema['x-set'] ? setOfTexts(neat) : neat
  }
  if (typeof value === 'string') return own(schema['x-alias'] ?? {}, value) ?? value
  // JSON has no negative zero to compare with: it is stored as 0 and would differ at every comparison.
  if (value === 0) return 0
  return isObject(value) ? tidyObject(schema, value) : value
}

/** One value in the form that it has within a document. */
export const canonical = tidy

/** The form that is stored, exported and hashed. */
export const compact = (kind: Kind, doc: Doc): Doc => tidyObject(kind.spec, { ...doc })

const fill = (schema: JsonSchema, value: unknown): unknown => {
  if (value === undefined) {
    if (!('default' in schema)) return undefined
    // A list is copied below, item by item; a clone of every flag would cost more than all the rest.
    value = isObject(schema.default) ? { ...schema.default } : schema.default
  }
  if (Array.isArray(value)) {
    const { items } = schema
    return items ? value.map((item) => fill(items, item)) : value
  }
  if (!isObject(value) || !schema.properties) return value
  const filled: Record<string, unknown> = { ...value }
  for (const [name, field] of fieldsOf(schema)) {
    if (!field.isStored) continue
    const inner = fill(field.schema, value[name])
    if (inner !== undefined) filled[name] = inner
  }
  return filled
}

/** The form that code works with: every default in its place. */
export const complete = (kind: Kind, doc: Doc): Doc => fill(kind.spec, doc) as Doc

/** SHA-256 over the compact form; secrets, ids, owners and times are not part of it. */
export const contentHash = (compacted: Doc): string => hash('sha256', JSON.stringify(compacted))
