/**
 * The state that is kept between syncs. One sync of a directory runs at a time, on any node: a row with a lease, which the
 * node extends and which expires when the node dies.
 */

import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, inSlices, insertRows, statement } from '#server/storage/statements.ts'
import type {
  DirectoryAbsenceRow,
  DirectoryGroupRow,
  DirectorySyncRow,
} from '#server/storage/tables/directory-tables.ts'
import type { Directory } from '../directory.ts'
import type { SyncResult } from './progress.ts'

type Db = Pick<Storage, 'db'>

export const leaseMs = 60_000

/** The guard of everything that a sync writes: the lease is still this node's. */
const leaseGuard = 'directory-lease'

export interface Lease {
  readonly id: string
  readonly before: DirectorySyncRow | undefined
}

export const createSyncState = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db' | 'append' | 'commit'>
  readonly clock: Clock
}) => {
  const { db } = storage
  const own = (provider: string, lease: string) =>
    db.updateTable('directory_syncs').where('provider', '=', provider).where('lease', '=', lease)

  const read = (provider: string): Promise<DirectorySyncRow | undefined> =>
    db.selectFrom('directory_syncs').selectAll().where('provider', '=', provider).executeTakeFirst()

  return {
    read,

    /** Undefined where another sync of the directory runs. */
    take: async ({ id: provider, realm }: Directory): Promise<Lease | undefined> => {
      const now = clock.now()
      const lease = newId()
      const lease_until = now + leaseMs
      const [taken] = await storage.commit([
        statement(
          db
            .insertInto('directory_syncs')
            .values({
              provider,
              realm,
              lease,
              lease_until,
              mark: null,
              mark_of: null,
              full_at: 0,
              finished_at: 0,
              result: null,
            })
            .onConflict((conflict) =>
              conflict
                .column('provider')
                .doUpdateSet({ lease, lease_until })
                .where('directory_syncs.lease_until', '<=', now),
            ),
        ),
      ])
      return taken?.count === 1 ? { id: lease, before: await read(provider) } : undefined
    },

    /** Fails the guard when another node has taken the lease over; extends it otherwise. */
    hold: ({ id: provider }: Directory, { id }: Lease): Statement =>
      guarded(own(provider, id).set({ lease_until: clock.now() + leaseMs }), leaseGuard),

    /** Tells how far the sync is. */
    note: ({ id: provider }: Directory, { id }: Lease, result: SyncResult): Promise<unknown> =>
      storage.commit([statement(own(provider, id).set({ result: JSON.stringify(result) }))]),

    /** The sync ended early: the next one reads again what this one read. */
    fail: async ({ id: provider }: Directory, { id }: Lease, reason: string): Promise<void> => {
      const over = { lease: null, lease_until: 0, finished_at: clock.now() }
      const result = JSON.stringify({ refused: reason.slice(0, 500) } satisfies SyncResult)
      await storage.commit([statement(own(provider, id).set({ ...over, result }))])
    },

    /** The server stops: the sync has not been, and is as due as it was before. */
    giveUp: async ({ id: provider }: Directory, { id, before }: Lease): Promise<void> => {
      const over = { lease: null, lease_until: 0, result: before?.result ?? null }
      await storage.commit([statement(own(provider, id).set(over))])
    },

    /** The sync is over, and what it read counts as read. */
    finish: async (
      { id: provider }: Directory,
      { id }: Lease,
      state: Pick<DirectorySyncRow, 'mark' | 'mark_of' | 'full_at' | 'result'>,
    ): Promise<void> => {
      const over = { ...state, finished_at: clock.now(), lease: null, lease_until: 0 }
      await storage.commit([guarded(own(provider, id).set(over), leaseGuard)])
    },
  }
}

/** What a sync of a deleted document has left is that of the document that replaced it. */
export const takeOverState = ({ db }: Db, deleted: string, provider: string): Statement[] => [
  statement(db.updateTable('directory_absences').set({ provider }).where('provider', '=', deleted)),
  statement(db.updateTable('directory_groups').set({ provider }).where('provider', '=', deleted)),
]

export const absencesOf = (
  { db }: Db,
  providers: readonly string[],
): Promise<DirectoryAbsenceRow[]> =>
  db.selectFrom('directory_absences').selectAll().where('provider', 'in', providers).execute()

export const insertAbsences = ({ db }: Db, rows: readonly DirectoryAbsenceRow[]): Statement[] =>
  insertRows(db, 'directory_absences', rows)

export const deleteAbsences = ({ db }: Db, userIds: readonly string[]): Statement[] =>
  inSlices(userIds).map((ids) =>
    statement(db.deleteFrom('directory_absences').where('user_id', 'in', ids)),
  )

export const groupsMadeFor = (
  { db }: Db,
  providers: readonly string[],
): Promise<DirectoryGroupRow[]> =>
  db.selectFrom('directory_groups').selectAll().where('provider', 'in', providers).execute()

export const insertGroups = ({ db }: Db, rows: readonly DirectoryGroupRow[]): Statement[] =>
  insertRows(db, 'directory_groups', rows)

export const forgetGroups = ({ db }: Db, ids: readonly string[]): Statement[] =>
  inSlices(ids).map((part) =>
    statement(db.deleteFrom('directory_groups').where('document_id', 'in', part)),
  )
