/**
 * Attempts in progress, counted in memory: equivalent to the database for the only process that writes, without a commit. All connections to
 * the same database in this process share the counts.
 */

import type { Kysely } from 'kysely'
import type { Tables } from '#server/storage/tables/tables.ts'

export interface HeldAttempts {
  /** One more; tells how many there are now. */
  take(realm: string, subject: string): number
  giveBack(realm: string, subject: string): void
}

const createHeldAttempts = (): HeldAttempts => {
  const counts = new Map<string, number>()
  // No realm has a space in its name.
  const keyOf = (realm: string, subject: string): string => `${realm} ${subject}`
  return {
    take(realm, subject) {
      const key = keyOf(realm, subject)
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      return count
    },
    giveBack(realm, subject) {
      const key = keyOf(realm, subject)
      const count = (counts.get(key) ?? 0) - 1
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}

const held = new WeakMap<Kysely<Tables>, HeldAttempts>()

export const heldAttemptsOn = (db: Kysely<Tables>): HeldAttempts => {
  const made = held.get(db) ?? createHeldAttempts()
  held.set(db, made)
  return made
}
