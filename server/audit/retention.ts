/**
 * Removes events that have expired, a whole block at a time: the last block that lost its events stays without them,
 * as the one that the rest of the chain continues. What is not in a block yet, or not in the totals, waits its turn.
 * Keys of deleted users without events are deleted as well.
 */

import { sql } from 'kysely'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { guarded, inSlices, statement } from '#server/storage/statements.ts'
import { leavesIn } from './chain.ts'
import type { Totals } from './totals.ts'

export interface RetentionParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly totals: Totals
  /** Its users are on record in every realm, so their keys stay. */
  readonly master: string
}

/** Removes a realm's events from before a moment; returns how many. */
export type ForgetEvents = (realm: string, olderThan: number) => Promise<number>

export const createForgetEvents = ({ storage, totals, master }: RetentionParts): ForgetEvents => {
  const { db } = storage

  const oldest = (realm: string) =>
    db
      .selectFrom('audit_blocks')
      .selectAll()
      .where('realm', '=', realm)
      .where('leaves', 'is not', null)
      .orderBy('n')
      .limit(1)
      .executeTakeFirst()

  const removal = (realm: string, ids: readonly number[]): Statement[] =>
    inSlices(ids).flatMap((part) => [
      totals.uncount(realm, part),
      statement(db.deleteFrom('audit_events').where('realm', '=', realm).where('id', 'in', part)),
    ])

  /** How many events of the oldest block it removed; undefined when none is due. */
  const step = async (realm: string, olderThan: number): Promise<number | undefined> => {
    const block = await oldest(realm)
    if (!block || block.newest_at >= olderThan) return undefined
    if (block.last_id > (await totals.countedUpTo(realm))) return undefined
    const own = db.updateTable('audit_blocks').where('realm', '=', realm).where('n', '=', block.n)
    await storage.commit([
      guarded(own.set({ leaves: null }).where('leaves', 'is not', null), 'block'),
      statement(db.deleteFrom('audit_blocks').where('realm', '=', realm).where('n', '<', block.n)),
      ...removal(
        realm,
        leavesIn(block.leaves ?? '').map(({ id }) => id),
      ),
    ])
    return block.events
  }

  const forgetKeys = async (realm: string): Promise<void> => {
    if (realm === master) return
    const query = sql`delete from personal_keys where realm = ${realm}
      and not exists (select 1 from users where users.id = personal_keys.user_id)
      and not exists (select 1 from audit_events as e
        where e.realm = personal_keys.realm and e.actor = personal_keys.user_id)
      and not exists (select 1 from audit_events as e
        where e.sealed is not null and e.resource_type = 'users'
        and e.resource_id = personal_keys.user_id)`
    await storage.commit([statement({ compile: () => query.compile(db) })])
  }

  return async (realm, olderThan) => {
    let removed = 0
    try {
      for (;;) {
        const events = await step(realm, olderThan)
        if (events === undefined) break
        removed += events
      }
    } catch (error) {
      // Another node is doing the same work.
      if (!(error instanceof GuardFailedError)) throw error
    }
    if (removed > 0) await forgetKeys(realm)
    return removed
  }
}

/** All events of a realm that is deleted. */
export const deleteEventsOf = ({ db }: Pick<Storage, 'db'>, realm: string): Statement =>
  statement(db.deleteFrom('audit_events').where('realm', '=', realm))
