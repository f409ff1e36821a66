/** From a REST body to its document, by the rules for every kind (docs/decisions/admin-api.md). */

import { isDeepStrictEqual } from 'node:util'
import { type Doc, isObject, type JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { type FieldError, invalid } from '#schemas/problems.ts'
import { readOnlyPointers } from '#schemas/views.ts'
import { splitSecrets } from '#schemas/walk.ts'

type Fields = Readonly<Record<string, unknown>>

const fieldAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value)

const without = (value: unknown, [name = '', ...path]: readonly string[]): unknown => {
  if (!isObject(value) || !(name in value)) return value
  const { [name]: inner, ...rest } = value
  return path.length === 0 ? rest : { ...rest, [name]: without(inner, path) }
}

/** On POST any read-only field is an error; on PUT one that repeats what is stored is ignored. */
export const withoutReadOnly = (kind: Kind, body: Fields, shown: Fields | null): Fields => {
  const errors: FieldError[] = []
  let rest: unknown = body
  for (const pointer of readOnlyPointers(kind)) {
    const path = pointer.split('/').slice(1)
    const given = fieldAt(body, path)
    if (given === undefined) continue
    if (!shown || !isDeepStrictEqual(given, fieldAt(shown, path)))
      errors.push({ field: pointer, code: 'read-only', message: 'is set by the server' })
    rest = without(rest, path)
  }
  if (errors.length > 0) throw invalid(errors)
  return rest as Fields
}

export interface BodyParts {
  /** The document it asks for, given the present one: fields that another route owns stay as they are. */
  readonly doc: (before: Doc) => Doc
  readonly secrets: Readonly<Record<string, string>>
  /** Fields that only REST has, such as a group's parentId. */
  readonly rest: Readonly<Record<string, unknown>>
}

/** Of a singleton null asks for the default, as if the field were absent where absent fields are defaults. */
export const withoutNulls = (schema: JsonSchema, body: Fields): Fields =>
  Object.fromEntries(
    Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
      const inner = schema.properties?.[name]
      // A name that does not exist is left to the check.
      if (!inner || inner['x-secret']) return [[name, value]]
      if (value === null) return []
      return [[name, inner.properties && isObject(value) ? withoutNulls(inner, value) : value]]
    }),
  )

/** The body as it was sent, as far as the schema names its fields: the check fills in defaults, and values may be large. */
export const namedIn = (schema: JsonSchema, body: Fields): Fields =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, inner]): [string, unknown][] => {
      if (!Object.hasOwn(body, name)) return []
      const value = body[name]
      return [[name, inner.properties && isObject(value) ? namedIn(inner, value) : value]]
    }),
  )

/** What was asked for, and what was there in place of what was not. */
const unlessAsked = (schema: JsonSchema, asked: Fields, filled: Fields, before: Fields): Doc =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, inner]): [string, unknown][] => {
      const [given, own, was] = [asked[name], filled[name], before[name]]
      const isInside = inner.properties && isObject(given) && isObject(own) && isObject(was)
      const value = isInside ? unlessAsked(inner, given, own, was) : name in asked ? own : was
      return value === undefined ? [] : [[name, value]]
    }),
  )

/**
 * Splits a body that was checked; `asked` is what it was before its defaults were filled in. Of a singleton what is absent
 * stays as it is: a caller that knows some of its fields must not reset the others.
 */
export const partsOf = (kind: Kind, body: Doc, asked: Fields): BodyParts => {
  const { doc, secrets } = splitSecrets(kind, body)
  const marked = (only: 'yaml' | 'rest') => (field: string) =>
    kind.spec.properties?.[field]?.['x-only'] === only
  const pick = (from: Doc, wanted: (field: string) => boolean) =>
    Object.fromEntries(Object.entries(from).filter(([field]) => wanted(field)))
  const isRest = marked('rest')
  const isYaml = marked('yaml')
  const isLeft = (field: string) =>
    kind.spec.properties?.[field]?.['x-kept'] === true && !(field in asked)
  const own = pick(doc, (field) => !isRest(field))
  return {
    doc: (before) =>
      kind.shape === 'singleton'
        ? unlessAsked(kind.spec, asked, own, before)
        : { ...own, ...pick(before, (field) => isYaml(field) || isLeft(field)) },
    secrets,
    rest: pick(doc, isRest),
  }
}
