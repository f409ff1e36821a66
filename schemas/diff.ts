/**
 * The one field diff, used by the plan and by the audit. Both sides are compared in their complete form, sets as
 * sets, lists item by item. Secrets never take part: they are not in documents.
 */

import { isDeepStrictEqual } from 'node:util'
import { type Doc, isObject, type JsonSchema, pointerSegment } from './json-schema.ts'
import type { Kind } from './kind.ts'
import { complete } from './normalize.ts'
import { own } from './own.ts'
import { propertySchema } from './walk.ts'

export type FieldChange =
  | {
      readonly pointer: string
      readonly change: 'set'
      readonly before?: unknown
      readonly after?: unknown
    }
  | { readonly pointer: string; readonly change: 'add' | 'remove'; readonly value: unknown }

/** The same text for equal values, in whatever order their fields stand. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_name, inner: unknown) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )

/** The items of a set that another one does not have. */
export const itemsWithout = (set: readonly unknown[], other: readonly unknown[]): unknown[] => {
  const known = new Set(other.map(textOf))
  return set.filter((item) => !known.has(textOf(item)))
}

const compareSets = (before: unknown[], after: unknown[], pointer: string): FieldChange[] => [
  ...itemsWithout(before, after).map((value) => ({ pointer, change: 'remove', value }) as const),
  ...itemsWithout(after, before).map((value) => ({ pointer, change: 'add', value }) as const),
]

const compareLists = (
  schema: JsonSchema,
  before: unknown[],
  after: unknown[],
  pointer: string,
): FieldChange[] => {
  const changes: FieldChange[] = []
  for (let i = 0; i < Math.max(before.length, after.length); i += 1) {
    const place = `${pointer}/${i}`
    if (i >= after.length) changes.push({ pointer: place, change: 'remove', value: before[i] })
    else if (i >= before.length) changes.push({ pointer: place, change: 'add', value: after[i] })
    else changes.push(...compare(schema.items ?? {}, before[i], after[i], place))
  }
  return changes
}

const compare = (
  schema: JsonSchema,
  before: unknown,
  after: unknown,
  pointer: string,
): FieldChange[] => {
  if (isDeepStrictEqual(before, after)) return []
  if (Array.isArray(before) && Array.isArray(after))
    return schema['x-set']
      ? compareSets(before, after, pointer)
      : compareLists(schema, before, after, pointer)
  if (isObject(before) && isObject(after))
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
      compare(
        propertySchema(schema, name) ?? {},
        own(before, name),
        own(after, name),
        `${pointer}/${pointerSegment(name)}`,
      ),
    )
  return [
    {
      pointer,
      change: 'set',
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
    },
  ]
}

/** The changes between two values of a document; null means that it does not exist. */
export const diff = (kind: Kind, before: Doc | null, after: Doc | null): FieldChange[] =>
  compare(kind.spec, before ? complete(kind, before) : {}, after ? complete(kind, after) : {}, '')
