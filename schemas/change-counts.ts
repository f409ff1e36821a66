/**
 * Counts of changes in plans, after an apply and in the history: each document once. A realm is not a document, and
 * built-in documents of a new realm count only if they were changed.
 */

export const figures = [
  'created',
  /** Changed or renamed by what was asked for. */
  'updated',
  /** By name, or along with a document that it cannot exist without. */
  'deleted',
  /** Nothing changed but its owner. */
  'adopted',
  /** A consequence of another change: its references or its key follow another document, or a stored secret is hashed. */
  'along',
] as const

export type Figure = (typeof figures)[number]

export type ChangeCounts = Readonly<Record<Figure, number>>

/** As what an operation counts of which no more is known. */
export const figureOf = {
  create: 'created',
  update: 'updated',
  rename: 'updated',
  delete: 'deleted',
} as const satisfies Record<string, Figure>

/** Null: it does not count. */
export const countChanges = (counted: Iterable<Figure | null>): ChangeCounts => {
  const counts = { created: 0, updated: 0, deleted: 0, adopted: 0, along: 0 }
  for (const figure of counted) if (figure !== null) counts[figure] += 1
  return counts
}
