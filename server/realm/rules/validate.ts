/** Validation of a document against its kind, in its stored form, and of its text against what databases store. */

import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { Kind } from '#schemas/kind.ts'
import type { FieldError } from '#schemas/problems.ts'
import { kinds } from '#schemas/registry.ts'
import { documentView } from '#schemas/views.ts'
import { textErrors } from '#server/storage/values.ts'

// The compact form is stored as it is checked: defaults must not be written into it.
const ajv = createAjv({ fillDefaults: false })
const validators = new Map(kinds.map((kind) => [kind.kind, lazyValidator(ajv, documentView(kind))]))

export const validateDocument = (kind: Kind, doc: unknown): readonly FieldError[] => [
  ...(validators.get(kind.kind)?.(doc) ?? []),
  ...textErrors(doc),
]
