/**
 * Erasure requests of managed users, whom the next apply would create again. They wait for an administrator, and are deleted
 * with the user.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'

export interface ErasureRequest {
  readonly userId: string
  readonly username: string
  readonly requestedAt: number
}

export const createErasureRequests = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}) => ({
  /** Oldest first. */
  list: (realm: string): Promise<ErasureRequest[]> =>
    db
      .selectFrom('erasure_requests')
      .innerJoin('users', 'users.id', 'erasure_requests.user_id')
      .select(['users.id as userId', 'users.username', 'requested_at as requestedAt'])
      .where('erasure_requests.realm', '=', realm)
      .orderBy('requested_at')
      .orderBy('users.id')
      .execute(),

  requestedAt: async (userId: string): Promise<number | undefined> => {
    const row = await db
      .selectFrom('erasure_requests')
      .select('requested_at')
      .where('user_id', '=', userId)
      .executeTakeFirst()
    return row?.requested_at
  },

  /** Asked again it stays the first one. */
  request: ({ id, realm }: UserRow): Statement =>
    statement(
      db
        .insertInto('erasure_requests')
        .values({ user_id: id, realm, requested_at: clock.now() })
        .onConflict((conflict) => conflict.doNothing()),
    ),

  withdraw: (userId: string): Statement =>
    statement(db.deleteFrom('erasure_requests').where('user_id', '=', userId)),
})

export type ErasureRequests = ReturnType<typeof createErasureRequests>
