/** The review queue: agents that their owners must confirm, the most urgent first. */

import { Agent, type AgentDoc } from '#schemas/kinds/provisioning/agent.ts'
import type { ReviewItem } from '#schemas/wire/agents.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { agentStates, type OwnedState } from '#server/tokens/agents/agent-states.ts'
import { type AgentStanding, standingOf } from '#server/tokens/agents/agents.ts'

/** An agent with all that is known of it. */
export interface KnownAgent {
  readonly document: StoredDocument
  readonly doc: AgentDoc
  readonly state: OwnedState
  readonly standing: AgentStanding
}

export interface ReviewParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}

export const createReview = ({ storage, clock }: ReviewParts) => {
  const agentsIn = async (view: RealmView): Promise<KnownAgent[]> => {
    const documents = await view.list(Agent.kind)
    const states = await agentStates(
      storage,
      documents.map(({ id }) => id),
    )
    return documents.flatMap((document) => {
      const state = states.get(document.id)
      if (!state) return []
      const doc = contentOf<AgentDoc>(document)
      return { document, doc, state, standing: standingOf(doc, state, clock.now()) }
    })
  }

  const itemOf = ({ document, doc, state }: KnownAgent): ReviewItem[] =>
    state.status !== 'ACTIVE' || doc.reviewEvery === undefined || state.next_review_at === null
      ? []
      : [
          {
            agentId: document.id,
            name: document.key,
            ownerUserId: state.owner_user_id,
            owner: state.owner_username,
            dueAt: state.next_review_at,
            overdue: state.next_review_at <= clock.now(),
          },
        ]

  return {
    agentsIn,
    queue: async (view: RealmView): Promise<ReviewItem[]> =>
      (await agentsIn(view)).flatMap(itemOf).sort((a, b) => a.dueAt - b.dueAt),
  }
}

export type Review = ReturnType<typeof createReview>
