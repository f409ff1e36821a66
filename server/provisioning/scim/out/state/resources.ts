/**
 * What each target has of each user and group, and whether something has changed since. A change counts `changed` up; a run that
 * has sent it sets `done` to the count it saw, so that a change in the meantime stays to be sent. However often a user changes
 * while a target is away, one row waits.
 */

import { sql } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { inSlices, statement } from '#server/storage/statements.ts'
import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'

type Db = Pick<Storage, 'db'>
type Kind = ScimResourceRow['kind']

const changed = sql<boolean>`changed > done`

/** What a target has of a resource that it never got. */
const unsent = {
  remote_id: null,
  attempted: 0,
  present: 0,
  sent: null,
  done: 0,
  due_at: 0,
  failures: 0,
  error: null,
} as const

/** How one row changes when a run has dealt with it. */
export type ResourceChange = Partial<
  Pick<
    ScimResourceRow,
    'remote_id' | 'attempted' | 'present' | 'sent' | 'done' | 'due_at' | 'failures' | 'error'
  >
>

export const createResources = ({ db }: Db) => {
  const rowsOf = (target: string, kind: Kind) =>
    db
      .selectFrom('scim_resources')
      .selectAll()
      .where('target_id', '=', target)
      .where('kind', '=', kind)

  return {
    /** They have changed, and are due at once. */
    mark: (target: string, kind: Kind, ids: readonly string[]): Statement[] =>
      inSlices(ids, 100).map((part) =>
        statement(
          db
            .insertInto('scim_resources')
            .values(
              part.map((local_id) => ({
                ...unsent,
                target_id: target,
                kind,
                local_id,
                changed: 1,
              })),
            )
            .onConflict((conflict) =>
              conflict.columns(['target_id', 'kind', 'local_id']).doUpdateSet((eb) => ({
                changed: eb('scim_resources.changed', '+', 1),
                due_at: 0,
              })),
            ),
        ),
      ),

    /** All that the target has are to be looked at again: also those that are gone here. */
    markAll: (target: string, kind: Kind): Statement =>
      statement(
        db
          .updateTable('scim_resources')
          .set((eb) => ({ changed: eb('changed', '+', 1), due_at: 0 }))
          .where('target_id', '=', target)
          .where('kind', '=', kind),
      ),

    /** To be sent now; what the target already has goes first, so that no leaver waits for an initial sync. */
    due: (target: string, kind: Kind, now: number, max: number): Promise<ScimResourceRow[]> =>
      rowsOf(target, kind)
        .where(changed)
        .where('due_at', '<=', now)
        .orderBy(sql`case when remote_id is null then 1 else 0 end`)
        .orderBy('due_at')
        .limit(max)
        .execute(),

    /** When the next that failed is due again. */
    nextDue: async (target: string, kinds: readonly Kind[]): Promise<number | undefined> => {
      if (kinds.length === 0) return undefined
      const row = await db
        .selectFrom('scim_resources')
        .select((eb) => eb.fn.min<number | null>('due_at').as('at'))
        .where('target_id', '=', target)
        .where('kind', 'in', kinds)
        .where(changed)
        .executeTakeFirst()
      return row?.at ?? undefined
    },

    byIds: (target: string, kind: Kind, ids: readonly string[]): Promise<ScimResourceRow[]> =>
      readInSlices(ids, (part) => rowsOf(target, kind).where('local_id', 'in', part).execute()),

    /** The rows that stand for these resources of the target. */
    byRemoteIds: (
      target: string,
      kind: Kind,
      remoteIds: readonly string[],
    ): Promise<ScimResourceRow[]> =>
      readInSlices(remoteIds, (part) =>
        rowsOf(target, kind).where('remote_id', 'in', part).execute(),
      ),

    all: (target: string, kind: Kind): Promise<ScimResourceRow[]> => rowsOf(target, kind).execute(),

    /** Those that have changed, in the order of their ids, after one of them. */
    changedAfter: (
      target: string,
      kind: Kind,
      after: string,
      max: number,
    ): Promise<ScimResourceRow[]> =>
      rowsOf(target, kind)
        .where(changed)
        .where('local_id', '>', after)
        .orderBy('local_id')
        .limit(max)
        .execute(),

    change: ({ target_id, kind, local_id }: ScimResourceRow, change: ResourceChange): Statement =>
      statement(
        db
          .updateTable('scim_resources')
          .set(change)
          .where('target_id', '=', target_id)
          .where('kind', '=', kind)
          .where('local_id', '=', local_id),
      ),

    /** The target is another service now. */
    forgetAll: (target: string): Statement =>
      statement(db.deleteFrom('scim_resources').where('target_id', '=', target)),

    /** Only what has not changed again. */
    forget: ({ target_id, kind, local_id, changed: seen }: ScimResourceRow): Statement =>
      statement(
        db
          .deleteFrom('scim_resources')
          .where('target_id', '=', target_id)
          .where('kind', '=', kind)
          .where('local_id', '=', local_id)
          .where('changed', '=', seen),
      ),

    figures: async (target: string) => {
      const { rows } = await sql<{
        kind: Kind
        known: number
        waiting: number
        failed: number
      }>`
        select kind, sum(case when remote_id is not null and present = 1 then 1 else 0 end) as known,
          sum(case when changed > done then 1 else 0 end) as waiting,
          sum(case when changed > done and failures > 0 and due_at > 0 then 1 else 0 end) as failed
        from scim_resources where target_id = ${target} group by kind`.execute(db)
      const figuresOf = (kind: Kind) => {
        const row = rows.find((one) => one.kind === kind)
        return {
          known: Number(row?.known ?? 0),
          waiting: Number(row?.waiting ?? 0),
          failed: Number(row?.failed ?? 0),
        }
      }
      return { users: figuresOf('user'), groups: figuresOf('group') }
    },

    /** The first that failed, with the reason; what is to be tried at once (`due_at` 0) has not failed yet. */
    failed: (target: string, max: number): Promise<ScimResourceRow[]> =>
      db
        .selectFrom('scim_resources')
        .selectAll()
        .where('target_id', '=', target)
        .where(changed)
        .where('failures', '>', 0)
        .where('due_at', '>', 0)
        .orderBy('local_id')
        .limit(max)
        .execute(),
  }
}

export type Resources = ReturnType<typeof createResources>
