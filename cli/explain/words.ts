/** A schema in words: type, limits, and the meaning of its marks. */

import type { JsonSchema, OnDelete } from '#schemas/json-schema.ts'
import { formats } from '#schemas/text/formats.ts'

const simple: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'map',
}

const valuesOf = ({
  patternProperties,
  additionalProperties,
}: JsonSchema): JsonSchema | undefined =>
  Object.values(patternProperties ?? {})[0] ??
  (typeof additionalProperties === 'object' ? additionalProperties : undefined)

/** Null means that a field is not set, which is shown elsewhere. */
const typeNames = ({ type }: JsonSchema): string[] =>
  [type ?? []].flat().filter((name) => name !== 'null')

const article = (word: string): string => (/^[aeio]/.test(word) ? `an ${word}` : `a ${word}`)

const choiceWords = (choices: readonly unknown[]): string =>
  `one of ${choices.filter((one) => one !== null).join(', ')}`

/** In a table there is no room for many choices: `short` leaves them to the explanation of the field itself. */
export const typeWords = (schema: JsonSchema, short = false): string => {
  const { items, properties, enum: choices, 'x-set': isSet, 'x-ref': ref } = schema
  if (ref) return `name of ${article(ref.kind)}`
  if (schema['x-secret']) return 'secret'
  if (schema['$ref'] !== undefined) return String(schema['$ref']).split('/').at(-1) ?? ''
  if (items) {
    const inner = items['x-ref'] ? `${items['x-ref'].kind} names` : typeWords(items, short)
    return `${isSet ? 'set' : 'list'} of ${inner}`
  }
  if (choices) return short && choices.length > 4 ? 'choice' : choiceWords(choices)
  const values = valuesOf(schema)
  if (!properties && values) {
    const inner = typeWords(values, short)
    return inner === 'anything' ? 'map' : `map of ${inner}`
  }
  const names = typeNames(schema).map((name) => simple[name] ?? name)
  return names.length === 0 ? 'anything' : names.join(' or ')
}

/** The limits that a schema sets, innermost items included. */
export const limitWords = (schema: JsonSchema): string[] => {
  const number = (name: string): number | undefined =>
    typeof schema[name] === 'number' ? schema[name] : undefined
  const between = (least: string, most: string, unit: string): string[] => {
    const [low, high] = [number(least), number(most)]
    if (low === 1 && high === undefined) return unit === '' ? ['at least 1'] : ['not empty']
    if (low !== undefined && high !== undefined) return [`${low} to ${high}${unit}`]
    if (low !== undefined) return [`at least ${low}${unit}`]
    return high === undefined ? [] : [`at most ${high}${unit}`]
  }
  const { format, items, pattern } = schema
  return [
    ...(format === undefined ? [] : [formats[format]?.message ?? `must be a ${format}`]),
    ...(typeof pattern === 'string' ? [`must match ${pattern}`] : []),
    ...between('minLength', 'maxLength', ' characters'),
    ...between('minimum', 'maximum', ''),
    ...between('minItems', 'maxItems', ' entries'),
    ...(items ? limitWords(items).map((one) => `each: ${one}`) : []),
  ]
}

const whenDeleted: Readonly<Record<OnDelete, string>> = {
  refuse: 'the referenced document cannot be deleted',
  cascade: 'deleted together with the referenced document',
  detach: 'the reference is removed when the referenced document is deleted',
}

const secretWords = {
  sealed: 'a secret: stored sealed, never shown again',
  verify: 'a secret: only ever compared, never shown again',
  initial: 'a secret: used when the document is made, kept nowhere, ignored afterwards',
} as const

/** The marks of a field, in words for authors of realm files. */
export const markWords = (schema: JsonSchema): string[] => {
  const { 'x-ref': ref, 'x-secret': secret, items } = schema
  return [
    ...(schema.readOnly ? ['set by the server; not allowed in files'] : []),
    ...(schema['x-only'] === 'yaml' ? ['part of the files; over REST another route owns it'] : []),
    ...(schema['x-only'] === 'rest' ? ['part of the REST form; files say it by nesting'] : []),
    ...(schema['x-kept'] ? ['over REST, a PUT without it leaves it as it is'] : []),
    ...(schema['x-follows']
      ? [`set by the server while ${schema['x-follows']} is set; a plan leaves it as it is then`]
      : []),
    ...(schema['x-immutable'] ? ['cannot be changed once it is made'] : []),
    ...(schema['x-set'] ? ['order and repetition mean nothing'] : []),
    ...(secret
      ? [
          secretWords[secret.store],
          `in a file: \${env:NAME} or \${file:PATH}; left out means unchanged`,
        ]
      : []),
    ...(ref
      ? [
          whenDeleted[ref.onDelete],
          ...(ref.grants ? ['only who holds its permissions may write it'] : []),
        ]
      : []),
    ...(items ? markWords(items) : []),
  ]
}
