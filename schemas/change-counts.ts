/**
 * How changes are counted, in plans, after an apply and in the history: every document once, as created, updated or deleted. A realm
 * is no document, and what a realm is born with counts only where it was changed.
 */

import type { ChangesetChange } from './wire/wire.ts'

export interface ChangeCounts {
  readonly created: number
  readonly updated: number
  readonly deleted: number
}

export const figureOf = {
  create: 'created',
  update: 'updated',
  rename: 'updated',
  delete: 'deleted',
} as const satisfies Record<ChangesetChange['op'], keyof ChangeCounts>

export const countChanges = (ops: Iterable<ChangesetChange['op']>): ChangeCounts => {
  const counts = { created: 0, updated: 0, deleted: 0 }
  for (const op of ops) counts[figureOf[op]] += 1
  return counts
}
