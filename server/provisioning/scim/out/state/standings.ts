/**
 * How far each target is. The row is also where news and runs meet: who brings news and who begins a run both count `turn` up, so
 * that either the run sees the news, or the one with the news sees that the run has begun and asks for another.
 */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { ScimTargetRow } from '#server/storage/tables/scim-tables.ts'

type Db = Pick<Storage, 'db'>

export type StandingChange = Partial<Omit<ScimTargetRow, 'target_id' | 'realm' | 'turn'>>

export const createStandings = ({ db }: Db) => ({
  read: (target: string): Promise<ScimTargetRow | undefined> =>
    db.selectFrom('scim_targets').selectAll().where('target_id', '=', target).executeTakeFirst(),

  /** Makes the row where there is none. */
  turn: ({ id, realm }: { readonly id: string; readonly realm: string }): Statement =>
    statement(
      db
        .insertInto('scim_targets')
        .values({
          target_id: id,
          realm,
          turn: 1,
          version: 0,
          marked_after: null,
          groups_mark: null,
          removals_allowed: null,
          held: 0,
          synced_at: null,
          error: null,
          error_at: null,
          base_url: null,
        })
        .onConflict((conflict) =>
          conflict
            .column('target_id')
            .doUpdateSet((eb) => ({ turn: eb('scim_targets.turn', '+', 1) })),
        ),
    ),

  change: (target: string, change: StandingChange): Statement =>
    statement(db.updateTable('scim_targets').set(change).where('target_id', '=', target)),

  ofTargets: (ids: readonly string[]): Promise<ScimTargetRow[]> =>
    db.selectFrom('scim_targets').selectAll().where('target_id', 'in', ids).execute(),
})

export type Standings = ReturnType<typeof createStandings>
