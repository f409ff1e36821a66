/** What a plan says of the part that it covers, and of the documents that it writes. */

import { notServed } from '#schemas/kind.ts'
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

/** A plan says of what it writes that nothing in this version uses it. */
export const unserved = (changes: readonly Change[]): PlanWarning[] => {
  const places = changes.filter(({ kind, doc }) => doc !== null && !kindNamed(kind).serves(doc))
  return places.length === 0
    ? []
    : [
        {
          code: 'not-served',
          message: `${notServed}: ${namesOf(places)}`,
          documents: places.map(({ kind, key }) => ({ kind, key })),
        },
      ]
}

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
