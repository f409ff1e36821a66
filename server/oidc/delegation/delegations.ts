/**
 * Users and the agents that act for them: a row per user and agent, from the first consent or delegation on. A row that its
 * user has revoked stays, so that the agent does not begin again by itself; a new consent of the user opens it again.
 */

import { sql } from 'kysely'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { guarded, held, statement } from '#server/storage/statements.ts'
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

/** What counts for a token of the agent: what became of earlier ones, and the consent of the user to its client. */
export interface DelegationTerms {
  readonly seen?: Pick<AgentDelegationRow, 'client_id' | 'scopes' | 'last_used_at' | 'revoked_at'>
  readonly consent?: ReadonlySet<string>
}

export interface Delegations {
  find(userId: string, agentId: string): Promise<AgentDelegationRow | undefined>
  /** In one query: it is asked for every token. */
  terms(delegation: Pick<Delegation, 'userId' | 'agentId' | 'clientId'>): Promise<DelegationTerms>
  /** Those that the user has not revoked, the last used first. */
  list(realm: string, userId: string): Promise<AgentDelegationRow[]>
  /** By the consent of the user, also where the user had revoked it. */
  allow(delegation: Delegation): Statement
  /** Fails `delegationGuard` when the user has revoked it since. Notes the use, where it is not as it was seen. */
  use(delegation: Delegation, seen: DelegationTerms['seen']): Statement
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

/** How exactly the last use is known, in milliseconds. */
const noteEvery = 60_000

type Ids = { userId: string; agentId: string; clientId: string }

const findTerms = preparedQuery('delegation-terms', (db, { userId, agentId, clientId }: Ids) =>
  db
    .selectFrom(sql<{ one: number }>`(select 1 as one)`.as('o'))
    .leftJoin('consents as c', (join) =>
      join.on('c.user_id', '=', userId).on('c.client_id', '=', clientId),
    )
    .leftJoin('agent_delegations as d', (join) =>
      join.on('d.user_id', '=', userId).on('d.agent_id', '=', agentId),
    )
    .select(['c.scopes as consented', 'd.client_id', 'd.scopes', 'd.last_used_at', 'd.revoked_at']),
)

const noteUse = preparedStatement(
  (db, row: AgentDelegationRow & Record<string, string | number | null>) =>
    db
      .insertInto('agent_delegations')
      .values({
        realm: row.realm,
        user_id: row.user_id,
        agent_id: row.agent_id,
        client_id: row.client_id,
        scopes: row.scopes,
        created_at: row.created_at,
        last_used_at: row.last_used_at,
        revoked_at: null,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['user_id', 'agent_id'])
          .doUpdateSet(changesOf(row))
          .where('agent_delegations.revoked_at', 'is', null),
      ),
  { rows: 1, guard: delegationGuard },
)

export const createDelegations = ({
  storage: { db, dialect },
  clock,
}: {
  readonly storage: Pick<Storage, 'db' | 'dialect'>
  readonly clock: Clock
}): Delegations => {
  /** A revocation that comes first fails it; one that comes later ends the grant that is made with it. */
  const holdUse = preparedStatement(
    (database, { userId, agentId }: Pick<Ids, 'userId' | 'agentId'>) =>
      held(
        dialect,
        database
          .selectFrom('agent_delegations')
          .select('user_id')
          .where('user_id', '=', userId)
          .where('agent_id', '=', agentId)
          .where('revoked_at', 'is', null),
      ),
    { rows: 1, guard: delegationGuard },
  )

  return {
    find: (userId, agentId) =>
      db
        .selectFrom('agent_delegations')
        .selectAll()
        .where('user_id', '=', userId)
        .where('agent_id', '=', agentId)
        .executeTakeFirst(),

    terms: async ({ userId, agentId, clientId }) => {
      const [row] = await findTerms(db, { userId, agentId, clientId })
      if (!row) return {}
      const { consented, client_id, scopes, last_used_at, revoked_at } = row
      return {
        ...(client_id === null || scopes === null || last_used_at === null
          ? {}
          : { seen: { client_id, scopes, last_used_at, revoked_at } }),
        ...(consented === null ? {} : { consent: new Set(JSON.parse(consented) as string[]) }),
      }
    },

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

    use: (delegation, seen) => {
      const row = newRow(delegation, clock.now())
      const isNoted =
        seen?.client_id === row.client_id &&
        seen.scopes === row.scopes &&
        row.last_used_at - seen.last_used_at < noteEvery
      return isNoted
        ? holdUse(db, { userId: delegation.userId, agentId: delegation.agentId })
        : noteUse(db, { ...row })
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
  }
}

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
