/**
 * Agents as tokens know them: which agent a client is, and whether it may be used now. Beside its own state an agent depends
 * on its owner, its expiry and its review: all of them are read at each use, so that a suspension on any node counts for the
 * next request.
 */

import { planScope } from '#schemas/access/admin-access.ts'
import { Agent, type AgentDoc } from '#schemas/kinds/provisioning/agent.ts'
import { milliseconds } from '#schemas/text/durations.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { perView } from '#server/storage/documents/kept.ts'
import type { AgentStateRow } from '#server/storage/tables/agent-tables.ts'
import { grantedScopes, openidScope, parseScope, ScopeError } from '../access/scopes.ts'
import type { TokenClient } from '../client.ts'
import { createAgentState, type OwnedState, touchAgent } from './agent-states.ts'

export type AgentStatus = AgentStateRow['status']

/** No token is issued to the client of an agent that is not ACTIVE. */
export class AgentInactiveError extends Error {
  override readonly name = 'AgentInactiveError'
}

export interface BoundAgent {
  readonly id: string
  readonly name: string
  readonly doc: AgentDoc
}

/** Its time is over, its owner is disabled or gone, or the owner has not confirmed it in time. */
export type SuspendingRule = 'expired' | 'owner' | 'review'

export interface AgentStanding {
  /** SUSPENDED also while a rule suspends an agent that an administrator has activated. */
  readonly status: AgentStatus
  /** The rule. */
  readonly because?: SuspendingRule
  /** When time alone suspends it. */
  readonly until: number
}

/** When the next review is due after one at this time; null without reviews. */
export const reviewDueAt = (reviewEvery: string | undefined, since: number): number | null =>
  reviewEvery === undefined ? null : since + milliseconds(reviewEvery)

type Rules = Pick<AgentDoc, 'expiresAt' | 'reviewEvery'>

/** Where an agent stands: its own state, narrowed by its rules. */
export const standingOf = (
  { expiresAt = Number.POSITIVE_INFINITY, reviewEvery }: Rules,
  state: OwnedState | undefined,
  now: number,
): AgentStanding => {
  const { status = 'PENDING', owner_user_id = null, owner_enabled, next_review_at } = state ?? {}
  const due = reviewEvery === undefined ? null : (next_review_at ?? null)
  const reviewBy = due ?? Number.POSITIVE_INFINITY
  const until = Math.min(expiresAt, reviewBy)
  const suspended = (because: SuspendingRule): AgentStanding => ({
    status: 'SUSPENDED',
    because,
    until,
  })
  if (status !== 'ACTIVE') return { status, until }
  if (owner_user_id !== null && owner_enabled !== 1) return suspended('owner')
  if (expiresAt <= now) return suspended('expired')
  return reviewBy <= now ? suspended('review') : { status, until }
}

/** How exactly the last use is known: each node writes it no more often. */
const touchEvery = 60_000

export const boundAgent = (document: StoredDocument): BoundAgent => ({
  id: document.id,
  name: document.key,
  doc: contentOf<AgentDoc>(document),
})

/** A realm as a request sees it, an `Issuer`: with a mark, the database was caught up with before. */
export interface SeenRealm {
  readonly view: RealmView
  readonly mark?: string | undefined
}

export interface Agents {
  /** The agent that authenticates as the client, without a query where the realm is known. */
  of(view: RealmView, clientId: string): Promise<BoundAgent | undefined>
  /** When the agent that the client is ends by time; undefined if it may not be used, infinity for other clients. */
  endOf(seen: SeenRealm, clientId: string): Promise<number | undefined>
  /** Throws an AgentInactiveError for the client of an agent that is not ACTIVE. */
  insist(seen: SeenRealm, client: TokenClient): Promise<void>
  /** The scopes of the list that the client may have as an agent; all of them for other clients. */
  within(view: RealmView, client: TokenClient, scope: readonly string[]): Promise<readonly string[]>
  /** As `grantedScopes`; throws a ScopeError also for one that is asked for and that the agent may not have. */
  granted(
    view: RealmView,
    client: TokenClient,
    requested: string | undefined,
  ): Promise<readonly string[]>
  /** Notes the use of an agent, where the last one was a while ago. */
  touch(view: RealmView, client: TokenClient): Promise<readonly Statement[]>
}

export const createAgents = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): Agents => {
  const ask = createAgentState(storage)

  /** States that were read since a mark: no older than any request that has it, which asks several times. */
  const sinceMark = new WeakMap<SeenRealm, Map<string, Promise<OwnedState | undefined>>>()

  const stateOf = (seen: SeenRealm, id: string): Promise<OwnedState | undefined> => {
    if (seen.mark === undefined) return ask(id)
    const states = sinceMark.get(seen) ?? new Map<string, Promise<OwnedState | undefined>>()
    sinceMark.set(seen, states)
    const state = states.get(id) ?? ask(id)
    states.set(id, state)
    state.catch(() => states.delete(id))
    return state
  }

  /** When this node last noted the use of an agent. */
  const touched = new Map<string, number>()

  const byClient = perView(async (view) => {
    const agents = (await view.list(Agent.kind)).map(boundAgent)
    return new Map(
      agents.flatMap((agent) =>
        agent.doc.clientId === undefined ? [] : [[agent.doc.clientId, agent] as const],
      ),
    )
  })

  const of: Agents['of'] = async (view, clientId) => (await byClient(view)).get(clientId)

  const standing = async (seen: SeenRealm, { id, doc }: BoundAgent): Promise<AgentStanding> =>
    standingOf(doc, await stateOf(seen, id), clock.now())

  const within: Agents['within'] = async (view, { clientId }, scope) => {
    const agent = await of(view, clientId)
    if (!agent) return scope
    // `admin:plan` keeps a token from changing anything: a token without it could do more, not less.
    const allowed = new Set([openidScope, planScope, ...agent.doc.allowedScopes])
    return scope.filter((one) => allowed.has(one))
  }

  return {
    of,
    endOf: async (seen, clientId) => {
      const agent = await of(seen.view, clientId)
      if (!agent) return Number.POSITIVE_INFINITY
      const { status, until } = await standing(seen, agent)
      return status === 'ACTIVE' ? until : undefined
    },
    insist: async (seen, { clientId }) => {
      const agent = await of(seen.view, clientId)
      if (!agent) return
      const { status, because } = await standing(seen, agent)
      if (status === 'ACTIVE') return
      const why = because === undefined ? '' : ` (${because})`
      throw new AgentInactiveError(`the agent of this client is ${status}${why}, not ACTIVE`)
    },
    within,
    granted: async (view, client, requested) => {
      const scope = await within(view, client, grantedScopes(client, requested))
      const beyond = parseScope(requested).find((one) => !scope.includes(one))
      if (beyond !== undefined) throw new ScopeError(`the agent may not have the scope ${beyond}`)
      return scope
    },
    touch: async (view, { clientId }) => {
      const agent = await of(view, clientId)
      if (!agent) return []
      const now = clock.now()
      if (now - (touched.get(agent.id) ?? 0) < touchEvery) return []
      touched.set(agent.id, now)
      return [touchAgent(storage, agent.id, now)]
    },
  }
}
