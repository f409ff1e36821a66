/** Agents beyond CRUD: the moves of their lifecycle, the review queue, and the review itself. */

import { Agent } from '#schemas/kinds/provisioning/agent.ts'
import { readView } from '#schemas/views.ts'
import { doneBy } from '#server/http/caller.ts'
import { type Lifecycle, type MoveName, moves } from '#server/provisioning/agents/lifecycle.ts'
import type { Review } from '#server/provisioning/agents/review.ts'
import type { Presenter } from '#server/realm/crud/present.ts'
import { findIn } from '#server/realm/read/find.ts'
import type { RefuseUnlessOutranked } from '#server/realm/rules/stronger.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { type Action, type ActionContext, bodyOf } from '../action.ts'

export interface AgentActionParts {
  readonly lifecycle: Lifecycle
  readonly review: Pick<Review, 'queue'>
  readonly presenter: Presenter
  readonly refuseUnlessOutranked: RefuseUnlessOutranked
}

const reply = { status: 200, schema: readView(Agent) } as const
const common = { permission: Agent.permission.write, resourceType: Agent.resourceType } as const

const queueSchema = {
  type: 'array',
  items: bodyOf({
    agentId: { type: 'string', format: 'uuid' },
    name: { type: 'string' },
    ownerUserId: { type: ['string', 'null'] },
    owner: { type: ['string', 'null'], description: 'Username.' },
    dueAt: { type: 'integer', description: 'Epoch milliseconds.' },
    overdue: { type: 'boolean', description: 'The agent is SUSPENDED until it is confirmed.' },
  }),
} as const

const summaries: Readonly<Record<MoveName, string>> = {
  activate: 'Lets an agent that is PENDING or SUSPENDED get tokens',
  suspend: 'Suspends an ACTIVE agent and ends all its tokens',
  revoke: 'Revokes an agent for good and ends all its tokens',
}

export const agentActions = (parts: AgentActionParts): Action[] => {
  const { lifecycle, review, presenter, refuseUnlessOutranked } = parts

  /** A move gives tokens to the client of the agent, or ends them: it needs what a write of the agent needs. */
  const agentIn = async ({
    realm,
    view,
    params,
    caller,
  }: ActionContext): Promise<StoredDocument> => {
    const agent = await findIn(view, Agent, params['id'] ?? '')
    await refuseUnlessOutranked(realm, [agent], caller)
    return agent
  }

  const mover = (name: MoveName): Action => ({
    ...common,
    operationId: `${name}-agent`,
    method: 'POST',
    path: `${Agent.path}/:id/${name}`,
    events: [moves[name].event],
    summary: summaries[name],
    reply,
    handle: async (context) => {
      const agent = await agentIn(context)
      await lifecycle.move(context.view, agent, name, doneBy(context.caller))
      return presenter.one(Agent, agent, context.view)
    },
  })

  return [
    ...(Object.keys(moves) as MoveName[]).map(mover),
    {
      ...common,
      operationId: 'attest-agent',
      method: 'POST',
      path: `${Agent.path}/:id/attest`,
      events: ['AGENT_ATTESTED'],
      summary: 'Confirms that an agent is still needed: its next review is due later',
      reply,
      handle: async (context) => {
        const agent = await agentIn(context)
        await lifecycle.attest(context.view, agent, doneBy(context.caller))
        return presenter.one(Agent, agent, context.view)
      },
    },
    {
      ...common,
      operationId: 'list-agents-to-review',
      method: 'GET',
      path: `${Agent.path}/owner-review`,
      permission: Agent.permission.read,
      summary: 'Agents that their owners must confirm, the most urgent first',
      reply: { status: 200, schema: queueSchema },
      handle: ({ view }) => review.queue(view),
    },
  ]
}
