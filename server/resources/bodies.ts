/** From a REST body to the document it means, by the rules that hold for every kind (decisions.md). */

import { isDeepStrictEqual } from 'node:util'
import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { type FieldError, invalid } from '#schemas/problems.ts'
import { readOnlyFields } from '#schemas/views.ts'
import { splitSecrets } from '#schemas/walk.ts'

/** On POST any read-only field is an error; on PUT one that repeats what is stored is ignored. */
export const withoutReadOnly = (
  kind: Kind,
  body: Readonly<Record<string, unknown>>,
  shown: Readonly<Record<string, unknown>> | null,
): Record<string, unknown> => {
  const errors: FieldError[] = []
  const rest = { ...body }
  for (const field of readOnlyFields(kind)) {
    if (!(field in rest)) continue
    if (!shown || !isDeepStrictEqual(rest[field], shown[field]))
      errors.push({ field: `/${field}`, code: 'read-only', message: 'is set by the server' })
    delete rest[field]
  }
  if (errors.length > 0) throw invalid(errors)
  return rest
}

export interface BodyParts {
  /** The document it asks for, given the present one: fields that another route owns stay as they are. */
  readonly doc: (before: Doc) => Doc
  readonly secrets: Readonly<Record<string, string>>
  /** Fields that only REST has, such as a group's parentId. */
  readonly rest: Readonly<Record<string, unknown>>
}

/** Splits a body that was checked. */
export const partsOf = (kind: Kind, body: Doc): BodyParts => {
  const { doc, secrets } = splitSecrets(kind, body)
  const marked = (only: 'yaml' | 'rest') => (field: string) =>
    kind.spec.properties?.[field]?.['x-only'] === only
  const pick = (from: Doc, wanted: (field: string) => boolean) =>
    Object.fromEntries(Object.entries(from).filter(([field]) => wanted(field)))
  const isRest = marked('rest')
  const own = pick(doc, (field) => !isRest(field))
  return {
    doc: (before) => ({ ...pick(before, marked('yaml')), ...own }),
    secrets,
    rest: pick(doc, isRest),
  }
}
