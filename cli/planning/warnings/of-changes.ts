/** What a plan says of the part that it covers, and of the documents that it writes. */

import { kindNamed } from '#schemas/registry.ts'
import type { Place } from '#schemas/wire/wire.ts'
import { nameOf, namesOf } from '../names.ts'
import type { Change, PlanWarning } from '../plan.ts'

export const targeted = (targets: readonly Place[]): PlanWarning[] =>
  targets.length === 0
    ? []
    : [
        {
          code: 'targeted',
          message: `only a part is planned, everything else is left alone: ${namesOf(targets)}`,
          documents: targets,
        },
      ]

/** What a document allows that its author may not have meant. */
export const cautions = (changes: readonly Change[]): PlanWarning[] =>
  changes.flatMap(({ kind, key, doc }) =>
    (doc === null ? [] : (kindNamed(kind).cautions?.(doc) ?? [])).map(
      ({ code, field, message, hint }) => ({
        code,
        message: `${nameOf(kind, key)}, ${field.slice(1)}: ${message}; ${hint}`,
        documents: [{ kind, key }],
      }),
    ),
  )
