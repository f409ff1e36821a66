/** From a REST body to the document it means, by the rules that hold for every kind (decisions.md). */

import { isDeepStrictEqual } from 'node:util'
import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { type FieldError, invalid } from '#schemas/problems.ts'
import { readOnlyFields } from '#schemas/views.ts'
import { splitSecrets } from '#schemas/walk.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'

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
  readonly doc: Doc
  readonly secrets: Readonly<Record<string, string>>
  /** Fields that only REST has, such as a group's parentId. */
  readonly rest: Readonly<Record<string, unknown>>
}

/** Splits a checked body; fields that another route owns stay as they are stored. */
export const partsOf = (kind: Kind, body: Doc, existing: StoredDocument | null): BodyParts => {
  const { doc, secrets } = splitSecrets(kind, body)
  const kept: Record<string, unknown> = {}
  const rest: Record<string, unknown> = {}
  for (const [field, schema] of Object.entries(kind.spec.properties ?? {})) {
    const only = schema['x-only']
    if (only === 'yaml' && existing && field in existing.body) kept[field] = existing.body[field]
    if (only === 'rest' && field in doc) rest[field] = doc[field]
  }
  const own = Object.entries(doc).filter(([field]) => !(field in rest))
  return { doc: { ...kept, ...Object.fromEntries(own) }, secrets, rest }
}
