/**
 * The canonical form of a document. Compact: unset values and values equal to their default are left out, sets
 * are sorted, fields stand in the schema's order. A field that a later version adds with a default therefore
 * changes neither the stored form nor the content hash of what exists.
 */

import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Doc, isObject, type JsonSchema } from './json-schema.ts'
import type { Kind } from './kind.ts'
import { propertySchema } from './walk.ts'

const byText = (a: unknown, b: unknown): number => {
  const left = JSON.stringify(a)
  const right = JSON.stringify(b)
  return left < right ? -1 : left > right ? 1 : 0
}

/** Two spellings of one value, or a repetition that a file holds. */
const distinct = (sorted: unknown[]): unknown[] =>
  sorted.filter((item, i) => i === 0 || byText(item, sorted[i - 1]) !== 0)

/** Whether a field belongs to the document itself, and not only to its REST form. */
export const isStored = (schema: JsonSchema): boolean =>
  !schema.readOnly && schema['x-only'] !== 'rest' && !schema['x-secret']

const tidyObject = (
  schema: JsonSchema,
  value: Record<string, unknown>,
): Record<string, unknown> => {
  const declared = Object.keys(schema.properties ?? {})
  const rest = Object.keys(value)
    .filter((name) => !schema.properties?.[name])
    .sort()
  const tidied: Record<string, unknown> = {}
  for (const name of [...declared, ...rest]) {
    const inner = value[name]
    const described = propertySchema(schema, name)
    if (inner === undefined || inner === null || (described && !isStored(described))) continue
    const neat = described ? tidy(described, inner) : inner
    if (
      described &&
      'default' in described &&
      isDeepStrictEqual(neat, tidy(described, described.default))
    )
      continue
    tidied[name] = neat
  }
  return tidied
}

const tidy = (schema: JsonSchema, value: unknown): unknown => {
  if (Array.isArray(value)) {
    const { items } = schema
    const neat = items ? value.map((item) => tidy(items, item)) : value
    return schema['x-set'] ? distinct(neat.sort(byText)) : neat
  }
  if (typeof value === 'string') return schema['x-alias']?.[value] ?? value
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
  for (const [name, described] of Object.entries(schema.properties)) {
    if (!isStored(described)) continue
    const inner = fill(described, value[name])
    if (inner !== undefined) filled[name] = inner
  }
  return filled
}

/** The form that code works with: every default in its place. */
export const complete = (kind: Kind, doc: Doc): Doc => fill(kind.spec, doc) as Doc

/** SHA-256 over the compact form; secrets, ids, owners and times are not part of it. */
export const contentHash = (compacted: Doc): string => hash('sha256', JSON.stringify(compacted))
