/**
 * The lifecycle of agents: PENDING, ACTIVE, SUSPENDED, REVOKED. A suspension ends everything that was issued to the client of
 * the agent, for good. So does an activation: a token request that was under way during the suspension may have come after it.
 */

import { Client } from '#schemas/kinds/clients/client.ts'
import { Agent, type AgentDoc } from '#schemas/kinds/provisioning/agent.ts'
import { Problem } from '#schemas/problems.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Clock } from '#server/platform/clock.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import {
  type AgentChange,
  agentGuard,
  agentState,
  moveAgent,
  type OwnedState,
} from '#server/tokens/agents/agent-states.ts'
import {
  type AgentStatus,
  reviewDueAt,
  type SuspendingRule,
  standingOf,
} from '#server/tokens/agents/agents.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { putNotBefore } from '#server/tokens/grants/not-before.ts'

interface Move {
  readonly from: readonly AgentStatus[]
  readonly to: AgentStatus
  readonly event: EventType
  readonly done: string
}

/** THE list of transitions; REVOKED is final. */
export const moves = {
  activate: {
    from: ['PENDING', 'SUSPENDED'],
    to: 'ACTIVE',
    event: 'AGENT_ACTIVATED',
    done: 'activated',
  },
  suspend: { from: ['ACTIVE'], to: 'SUSPENDED', event: 'AGENT_SUSPENDED', done: 'suspended' },
  revoke: {
    from: ['PENDING', 'ACTIVE', 'SUSPENDED'],
    to: 'REVOKED',
    event: 'AGENT_REVOKED',
    done: 'revoked',
  },
} as const satisfies Record<string, Move>

export type MoveName = keyof typeof moves

/** What keeps an agent SUSPENDED, and what to do about it. */
const remedies: Readonly<Record<SuspendingRule, string>> = {
  expired: 'its time is over: set a later expiresAt',
  owner: 'its owner is disabled or deleted: enable the user, or name another owner',
  review: 'its review is overdue: its owner, or POST /agents/{id}/attest, must confirm it',
}

/** The author of a change. */
export type By = Pick<AuditEvent, 'actor' | 'onBehalfOf' | 'sourceIp'>

export interface Lifecycle {
  /** A conflict for a move that the state does not have. */
  move(view: RealmView, agent: StoredDocument, name: MoveName, by: By): Promise<void>
  /** The owner, or an administrator, confirms that the agent is still needed: the next review is due later. */
  attest(view: RealmView, agent: StoredDocument, by: By): Promise<void>
  /** Records that a rule suspends the agent, and ends all that was issued to its client; or that none does any more. */
  note(view: RealmView, agent: StoredDocument, seen: OwnedState, by: By): Promise<void>
}

export interface LifecycleParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly recorder: Recorder
  readonly grantsStore: Pick<GrantsStore, 'revokeOfClient'>
}

const movedMeanwhile = ({ key }: StoredDocument): Problem =>
  new Problem('conflict', `agent "${key}" was changed concurrently; read it again`)

export const createLifecycle = (parts: LifecycleParts): Lifecycle => {
  const { storage, clock, recorder, grantsStore } = parts

  /** Everything that was issued to the client until now. */
  const endTokens = async (view: RealmView, { clientId }: AgentDoc): Promise<Statement[]> => {
    const client = clientId === undefined ? undefined : await view.get(Client.kind, clientId)
    if (!client) return []
    return [
      ...grantsStore.revokeOfClient(client.id),
      putNotBefore(storage, {
        realm: view.realm,
        subject_kind: 'client',
        subject_id: client.id,
        at: clock.now(),
      }),
    ]
  }

  const stateOf = async ({ id, key }: StoredDocument): Promise<OwnedState> => {
    const state = await agentState(storage, id)
    if (!state) throw new Problem('not-found', `there is no agent "${key}"`)
    return state
  }

  const commit = async (
    { realm }: RealmView,
    agent: StoredDocument,
    [seen, change]: readonly [OwnedState, AgentChange],
    [type, by, detail]: readonly [EventType, By, string?],
    statements: readonly Statement[] = [],
  ): Promise<void> => {
    const event: AuditEvent = {
      type,
      realm,
      ...by,
      outcome: 'SUCCESS',
      resourceType: Agent.resourceType,
      resourceId: agent.id,
      ...(detail === undefined ? {} : { detail }),
    }
    try {
      await recorder.commit([moveAgent(storage, seen, change), ...statements], [event])
    } catch (error) {
      if (error instanceof GuardFailedError && error.guard === agentGuard)
        throw movedMeanwhile(agent)
      throw error
    }
  }

  const refuseUnlessUsable = (
    { key }: StoredDocument,
    doc: AgentDoc,
    state: OwnedState,
    change: AgentChange,
  ): void => {
    const { because } = standingOf(doc, { ...state, ...change }, clock.now())
    if (because)
      throw new Problem('conflict', `agent "${key}" cannot be activated: ${remedies[because]}`)
  }

  return {
    move: async (view, agent, name, by) => {
      const { from, to, event, done }: Move = moves[name]
      const doc = contentOf<AgentDoc>(agent)
      const state = await stateOf(agent)
      if (!from.includes(state.status)) {
        const { because } = standingOf(doc, state, clock.now())
        const why = because === undefined ? state.status : `SUSPENDED: ${remedies[because]}`
        throw new Problem(
          'conflict',
          `agent "${agent.key}" is ${why}; only one that is ${from.join(' or ')} can be ${done}`,
        )
      }
      const now = clock.now()
      const change: AgentChange = {
        status: to,
        noted_rule: null,
        reminded_at: null,
        next_review_at: to === 'ACTIVE' ? reviewDueAt(doc.reviewEvery, now) : null,
      }
      if (to === 'ACTIVE') refuseUnlessUsable(agent, doc, state, change)
      await commit(view, agent, [state, change], [event, by], await endTokens(view, doc))
    },

    attest: async (view, agent, by) => {
      const { reviewEvery } = contentOf<AgentDoc>(agent)
      const state = await stateOf(agent)
      if (state.status !== 'ACTIVE')
        throw new Problem(
          'conflict',
          `agent "${agent.key}" is ${state.status}; only one that is ACTIVE, or overdue, can be confirmed`,
        )
      const now = clock.now()
      const change: AgentChange = {
        last_reviewed_at: now,
        next_review_at: reviewDueAt(reviewEvery, now),
        reminded_at: null,
        noted_rule: null,
      }
      await commit(view, agent, [state, change], ['AGENT_ATTESTED', by])
    },

    note: async (view, agent, seen, by) => {
      const doc = contentOf<AgentDoc>(agent)
      const { because = null } = standingOf(doc, seen, clock.now())
      const change = { noted_rule: because }
      if (because === null)
        await commit(
          view,
          agent,
          [seen, change],
          ['AGENT_ACTIVATED', by, `${seen.noted_rule} is over`],
        )
      else {
        const ends = await endTokens(view, doc)
        await commit(view, agent, [seen, change], ['AGENT_SUSPENDED', by, because], ends)
      }
    },
  }
}
