/** From a REST body to the document it means, by the rules that hold for every kind (decisions.md). */

import { isDeepStrictEqual } from 'node:util'
import { type Doc, isObject } from '#schemas/json-schema.ts'
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

/** Splits a body that was checked; `given` has the names that it had before its defaults were filled in. */
export const partsOf = (kind: Kind, body: Doc, given: ReadonlySet<string>): BodyParts => {
  const { doc, secrets } = splitSecrets(kind, body)
  const marked = (only: 'yaml' | 'rest') => (field: string) =>
    kind.spec.properties?.[field]?.['x-only'] === only
  const pick = (from: Doc, wanted: (field: string) => boolean) =>
    Object.fromEntries(Object.entries(from).filter(([field]) => wanted(field)))
  const isRest = marked('rest')
  const isYaml = marked('yaml')
  const isLeft = (field: string) =>
    kind.spec.properties?.[field]?.['x-kept'] === true && !given.has(field)
  const own = pick(doc, (field) => !isRest(field))
  return {
    doc: (before) => ({
      ...own,
      ...pick(before, (field) => isYaml(field) || isLeft(field)),
    }),
    secrets,
    rest: pick(doc, isRest),
  }
}
