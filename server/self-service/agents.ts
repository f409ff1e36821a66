/**
 * Agents of the signed-in user: those that act for the user, which the user can revoke, those that wait for a confirmation, and those
 * that the user answers for.
 */

import { Agent } from '#schemas/kinds/provisioning/agent.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Consents } from '#server/oidc/consent/consents.ts'
import type { Confirmations } from '#server/oidc/delegation/confirmations.ts'
import { type Delegations, delegationGuard } from '#server/oidc/delegation/delegations.ts'
import { agentConfirmPath } from '#server/oidc/page-handles.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Lifecycle } from '#server/provisioning/agents/lifecycle.ts'
import type { KnownAgent, Review } from '#server/provisioning/agents/review.ts'
import { doerOf } from '#server/sessions/doer.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { LiveScopes } from '#server/tokens/grants/live-scopes.ts'
import { objectOf } from './description.ts'
import { nothing, type Operation } from './operation.ts'
import { type Self, selfEvent } from './self.ts'

export interface OwnAgentsParts {
  readonly delegations: Pick<Delegations, 'list' | 'find' | 'revoke'>
  readonly confirmations: Pick<Confirmations, 'waiting'>
  readonly consents: Pick<Consents, 'forget'>
  readonly lifecycle: Pick<Lifecycle, 'attest'>
  readonly review: Pick<Review, 'agentsIn'>
  readonly recorder: Recorder
  readonly clock: Clock
  readonly liveScopes: LiveScopes
}

/** One that acts for the user. Times are milliseconds since 1970. */
export interface ActingAgent {
  readonly id: string
  readonly name: string
  readonly description: string | null
  /** Its tokens are good while it is ACTIVE alone. */
  readonly status: string
  readonly scopes: readonly string[]
  readonly since: number
  readonly lastUsedAt: number
}

/** One that asks to act for the user with high-risk scopes. */
export interface WaitingAgent {
  readonly agentId: string
  readonly name: string
  readonly scopes: readonly string[]
  /** Audiences and resources. */
  readonly targets: readonly string[]
  readonly expiresAt: number
  /** The page where the user decides. */
  readonly decideAt: string
}

/** One that the user answers for. */
export interface OwnedAgent {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly status: string
  readonly lastUsedAt: number | null
  /** When it must be confirmed again; null where it need not be. */
  readonly dueAt: number | null
  readonly overdue: boolean
}

const missing = (): Problem => new Problem('not-found', 'you have no such agent')

const ownedAgent = ({ document, doc, state, standing }: KnownAgent): OwnedAgent => ({
  id: document.id,
  name: document.key,
  description: doc.description ?? null,
  status: standing.status,
  lastUsedAt: state.last_used_at,
  dueAt: doc.reviewEvery === undefined ? null : state.next_review_at,
  overdue: standing.because === 'review',
})

/** As an export of personal data has those that the user answers for. */
export const ownedRecords = (agents: readonly KnownAgent[], userId: string) =>
  agents
    .filter(({ state }) => state.owner_user_id === userId)
    .map(({ document, standing, state }) => ({
      role: 'owner',
      agentId: document.id,
      name: document.key,
      status: standing.status,
      lastReviewedDate: state.last_reviewed_at,
    }))

export const createOwnAgents = (parts: OwnAgentsParts) => {
  const { delegations, confirmations, consents, lifecycle, review, recorder } = parts
  const { clock, liveScopes } = parts

  const ownedBy = async ({ issuer, user }: Self): Promise<KnownAgent[]> =>
    (await review.agentsIn(issuer.view)).filter(({ state }) => state.owner_user_id === user.id)

  return {
    acting: async ({ issuer, user }: Self): Promise<ActingAgent[]> => {
      const rows = await delegations.list(issuer.name, user.id)
      if (rows.length === 0) return []
      const live = await liveScopes(issuer.name, user.id, clock.now())
      const known = new Map(
        (await review.agentsIn(issuer.view)).map((one) => [one.document.id, one]),
      )
      return rows.flatMap((row) => {
        const agent = known.get(row.agent_id)
        if (!agent) return []
        const { document, doc, standing } = agent
        return {
          id: document.id,
          name: document.key,
          description: doc.description ?? null,
          status: standing.status,
          // The last token may have fewer than one before that is still good.
          scopes: [
            ...new Set([
              ...(JSON.parse(row.scopes) as string[]),
              ...(live.get(row.client_id) ?? []),
            ]),
          ],
          since: row.created_at,
          lastUsedAt: row.last_used_at,
        }
      })
    },

    waiting: async ({ issuer, user }: Self): Promise<WaitingAgent[]> => {
      const rows = await confirmations.waiting(issuer.name, user.id)
      const questions = await Promise.all(
        rows.map(async (row) => {
          const document = await issuer.view.byId(Agent.kind, row.agent_id)
          if (!document) return []
          return {
            agentId: document.id,
            name: document.key,
            scopes: JSON.parse(row.scopes) as string[],
            targets: JSON.parse(row.targets) as string[],
            expiresAt: row.expires_at,
            decideAt: `${issuer.url}${agentConfirmPath}/${row.id}`,
          }
        }),
      )
      return questions.flat()
    },

    /** Ends what the agent does for the user, with its tokens; it begins again only by a consent of the user. */
    revoke: async (self: Self, id: string): Promise<void> => {
      const { issuer, user } = self
      const row = await delegations.find(user.id, id)
      if (row?.realm !== issuer.name) throw missing()
      try {
        await recorder.commit(
          [
            delegations.revoke(user.id, id),
            ...consents.forget(issuer.name, user.id, row.client_id),
          ],
          [
            {
              ...selfEvent(self, 'REVOKE_GRANT', 'agent'),
              resourceType: Agent.resourceType,
              resourceId: id,
            },
          ],
        )
      } catch (error) {
        if (error instanceof GuardFailedError && error.guard === delegationGuard) throw missing()
        throw error
      }
    },

    owned: async (self: Self): Promise<OwnedAgent[]> => (await ownedBy(self)).map(ownedAgent),

    attest: async (self: Self, id: string): Promise<void> => {
      const { issuer, user, session, address } = self
      const agent = (await ownedBy(self)).find(({ document }) => document.id === id)
      if (!agent) throw missing()
      const by = { ...doerOf(user.id, session), sourceIp: address }
      await lifecycle.attest(issuer.view, agent.document, by)
    },
  }
}

export type OwnAgents = ReturnType<typeof createOwnAgents>

const id = { type: 'string', format: 'uuid' }
const time = { type: 'integer', description: 'Milliseconds since 1970.' }
const optionalTime = { type: ['integer', 'null'], description: 'Milliseconds since 1970.' }
const common = {
  id,
  name: { type: 'string' },
  description: { type: ['string', 'null'] },
}

const acting = objectOf({
  ...common,
  status: { type: 'string', description: 'It can act while it is ACTIVE alone.' },
  scopes: {
    type: 'array',
    items: { type: 'string' },
    description: 'Of its last token, and of all that are still good.',
  },
  since: time,
  lastUsedAt: time,
})

const waiting = objectOf({
  agentId: id,
  name: { type: 'string' },
  scopes: { type: 'array', items: { type: 'string' } },
  targets: { type: 'array', items: { type: 'string' }, description: 'Audiences and resources.' },
  expiresAt: time,
  decideAt: { type: 'string', description: 'The page where the user decides.' },
})

const owned = objectOf({
  ...common,
  status: { type: 'string' },
  lastUsedAt: optionalTime,
  dueAt: { ...optionalTime, description: 'When it must be confirmed again.' },
  overdue: { type: 'boolean', description: 'It is SUSPENDED until it is confirmed.' },
})

export const agentOperations = (own: OwnAgents): Operation[] => [
  {
    method: 'GET',
    path: '/agents',
    operationId: 'list-own-acting-agents',
    summary: 'Agents that act for the user, last used first',
    replies: { 200: { type: 'array', items: acting } },
    refusals: [401, 403, 404],
    handle: own.acting,
  },
  {
    method: 'GET',
    path: '/agent-confirmations',
    operationId: 'list-own-agent-confirmations',
    summary: 'Agents that wait for the user to confirm high-risk scopes',
    replies: { 200: { type: 'array', items: waiting } },
    refusals: [401, 403, 404],
    handle: own.waiting,
  },
  {
    method: 'DELETE',
    path: '/agents/:id',
    operationId: 'revoke-own-acting-agent',
    summary: 'Ends what an agent does for the user, with its tokens',
    replies: { 204: nothing },
    refusals: [401, 403, 404],
    events: ['REVOKE_GRANT'],
    handle: (self, { params }) => own.revoke(self, params.id),
  },
  {
    method: 'GET',
    path: '/owned-agents',
    operationId: 'list-own-agents',
    summary: 'Agents that the user answers for',
    replies: { 200: { type: 'array', items: owned } },
    refusals: [401, 403, 404],
    handle: own.owned,
  },
  {
    method: 'POST',
    path: '/owned-agents/:id/attest',
    operationId: 'attest-own-agent',
    summary: 'Confirms that an agent of the user is still needed',
    replies: { 204: nothing },
    refusals: [401, 403, 404, 409],
    events: ['AGENT_ATTESTED'],
    handle: (self, { params }) => own.attest(self, params.id),
  },
]
