/** The table `agent_states`: reads with the owner of each agent, and changes as statements for the transaction of their cause. */

import type { Kysely } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { gathered } from '#server/storage/gathered.ts'
import { preparedPerSize, preparedQuery } from '#server/storage/prepared.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { AgentStateRow } from '#server/storage/tables/agent-tables.ts'
import type { Tables } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>

/** With what of the owner counts; null where there is no such user. */
export type OwnedState = AgentStateRow & {
  readonly owner_enabled: number | null
  readonly owner_username: string | null
}

/** Fails where the agent has moved, or was reviewed, since it was read. */
export const agentGuard = 'agent-state'

const withOwner = (db: Kysely<Tables>) =>
  db
    .selectFrom('agent_states as s')
    .leftJoin('users as u', 'u.id', 's.owner_user_id')
    .selectAll('s')
    .select(['u.enabled as owner_enabled', 'u.username as owner_username'])

const findState = preparedQuery('agent-state', (db, { id }: { id: string }) =>
  withOwner(db).where('s.agent_id', '=', id),
)

export const agentState = async ({ db }: Db, id: string): Promise<OwnedState | undefined> =>
  (await findState(db, { id }))[0]

const findStates = preparedPerSize(
  'agent-states',
  (db, values: Readonly<Record<string, string>>, size) =>
    withOwner(db).where(
      's.agent_id',
      'in',
      Array.from({ length: size }, (_, i) => values[String(i)] as string),
    ),
)

const mostAtOnce = 64

/** As `agentState`, in one query for all who ask at the same moment: each request with a token of an agent does. */
export const createAgentState = ({ db }: Db): ((id: string) => Promise<OwnedState | undefined>) =>
  gathered(mostAtOnce, async (asked: readonly string[]) => {
    const ids = [...new Set(asked)]
    const { size, query } = findStates(ids.length)
    const values = Array.from({ length: size }, (_, i) => [String(i), ids[i] ?? ''])
    const rows = await query(db, Object.fromEntries(values))
    const states = new Map(rows.map((row) => [row.agent_id, row]))
    return asked.map((id) => states.get(id))
  })

export const agentStates = async (
  { db }: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, OwnedState>> => {
  const rows = await readInSlices(ids, (part) =>
    withOwner(db).where('s.agent_id', 'in', part).execute(),
  )
  return new Map(rows.map((row) => [row.agent_id, row]))
}

/** By id. */
export const agentsOwnedBy = async ({ db }: Db, userId: string): Promise<ReadonlySet<string>> => {
  const rows = await db
    .selectFrom('agent_states')
    .select('agent_id')
    .where('owner_user_id', '=', userId)
    .execute()
  return new Set(rows.map((row) => row.agent_id))
}

export const insertAgentStates = (
  { db }: Db,
  agents: readonly Pick<AgentStateRow, 'agent_id' | 'owner_user_id'>[],
): Statement[] =>
  insertRows(
    db,
    'agent_states',
    agents.map((agent) => ({
      status: 'PENDING' as const,
      last_reviewed_at: null,
      next_review_at: null,
      last_used_at: null,
      reminded_at: null,
      noted_rule: null,
      ...agent,
    })),
  )

/** What a change of the document means for the state; not guarded, since the document is. */
export const changeAgentState = (
  { db }: Db,
  id: string,
  change: Pick<AgentStateRow, 'owner_user_id' | 'next_review_at'>,
): Statement => statement(db.updateTable('agent_states').set(change).where('agent_id', '=', id))

export type AgentChange = Partial<
  Pick<
    AgentStateRow,
    'status' | 'last_reviewed_at' | 'next_review_at' | 'reminded_at' | 'noted_rule'
  >
>

/** Fails `agentGuard` unless the agent is as it was read: of two moves at once one is refused. */
export const moveAgent = ({ db }: Db, seen: AgentStateRow, change: AgentChange): Statement =>
  guarded(
    db
      .updateTable('agent_states')
      .set(change)
      .where('agent_id', '=', seen.agent_id)
      .where('status', '=', seen.status)
      .where((eb) => {
        const { next_review_at: due } = seen
        return due === null ? eb('next_review_at', 'is', null) : eb('next_review_at', '=', due)
      }),
    agentGuard,
  )

export const touchAgent = ({ db }: Db, id: string, now: number): Statement =>
  statement(db.updateTable('agent_states').set({ last_used_at: now }).where('agent_id', '=', id))
