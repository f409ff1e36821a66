/**
 * For whom agents act: a row per user and agent, from the first consent or delegation on. A row that its user has revoked stays, so that
 * the agent does not begin again by itself; a new consent of the user opens it again.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { AgentDelegationRow } from '#server/storage/tables/agent-tables.ts'

/** Fails where the user has revoked the delegation, or there is none to revoke. */
export const delegationGuard = 'agent-delegation'

export interface Delegation {
  readonly realm: string
  readonly userId: string
  readonly agentId: string
  /** Of the client's document. */
  readonly clientId: string
  readonly scope: readonly string[]
}

export interface Delegations {
  find(userId: string, agentId: string): Promise<AgentDelegationRow | undefined>
  /** Those that the user has not revoked, the last used first. */
  list(realm: string, userId: string): Promise<AgentDelegationRow[]>
  /** By the consent of the user, also where the user had revoked it. */
  allow(delegation: Delegation): Statement
  /** Fails `delegationGuard` when the user has revoked it since. */
  use(delegation: Delegation): Statement
  /** Fails `delegationGuard` when there is none. */
  revoke(userId: string, agentId: string): Statement
}

const newRow = (
  { realm, userId, agentId, clientId, scope }: Delegation,
  now: number,
): AgentDelegationRow => ({
  realm,
  user_id: userId,
  agent_id: agentId,
  client_id: clientId,
  scopes: JSON.stringify(scope),
  created_at: now,
  last_used_at: now,
  revoked_at: null,
})

/** What a later token changes in the row. */
const changesOf = ({ client_id, scopes, last_used_at }: AgentDelegationRow) => ({
  client_id,
  scopes,
  last_used_at,
})

export const createDelegations = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): Delegations => ({
  find: (userId, agentId) =>
    db
      .selectFrom('agent_delegations')
      .selectAll()
      .where('user_id', '=', userId)
      .where('agent_id', '=', agentId)
      .executeTakeFirst(),

  list: (realm, userId) =>
    db
      .selectFrom('agent_delegations')
      .selectAll()
      .where('realm', '=', realm)
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .orderBy('last_used_at', 'desc')
      .execute(),

  allow: (delegation) => {
    const row = newRow(delegation, clock.now())
    return statement(
      db
        .insertInto('agent_delegations')
        .values(row)
        .onConflict((conflict) =>
          conflict
            .columns(['user_id', 'agent_id'])
            .doUpdateSet({ ...changesOf(row), revoked_at: null }),
        ),
    )
  },

  use: (delegation) => {
    const row = newRow(delegation, clock.now())
    return guarded(
      db
        .insertInto('agent_delegations')
        .values(row)
        .onConflict((conflict) =>
          conflict
            .columns(['user_id', 'agent_id'])
            .doUpdateSet(changesOf(row))
            .where('agent_delegations.revoked_at', 'is', null),
        ),
      delegationGuard,
    )
  },

  revoke: (userId, agentId) =>
    guarded(
      db
        .updateTable('agent_delegations')
        .set({ revoked_at: clock.now() })
        .where('user_id', '=', userId)
        .where('agent_id', '=', agentId)
        .where('revoked_at', 'is', null),
      delegationGuard,
    ),
})

/** As an export of personal data has it, beside consents. */
export const delegationRecord = (row: AgentDelegationRow) => ({
  agentId: row.agent_id,
  scopes: JSON.parse(row.scopes) as string[],
  createdDate: row.created_at,
  lastUsedDate: row.last_used_at,
})

type Db = Pick<Storage, 'db'>

/** What a user says about a client counts for the agent that acts through it. */
const ofClient = ({ db }: Db, userId: string, clientId: string) =>
  db
    .updateTable('agent_delegations')
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId)

export const reopenDelegations = (storage: Db, userId: string, clientId: string): Statement =>
  statement(ofClient(storage, userId, clientId).set({ revoked_at: null }))

export const revokeDelegations = (
  storage: Db,
  userId: string,
  clientId: string,
  now: number,
): Statement =>
  statement(
    ofClient(storage, userId, clientId).set({ revoked_at: now }).where('revoked_at', 'is', null),
  )
