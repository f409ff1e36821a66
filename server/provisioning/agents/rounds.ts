/**
 * What time does to agents: a round notes those that a rule suspends, or suspends no longer, in the audit trail, and reminds
 * owners of a review by mail, before it is due and when it is overdue. The rules hold whether a round has noted them or not.
 */

import { Agent } from '#schemas/kinds/provisioning/agent.ts'
import { milliseconds } from '#schemas/text/durations.ts'
import { doneBy, systemCaller } from '#server/http/caller.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { realmsWith } from '#server/storage/documents/reads.ts'
import { moveAgent } from '#server/tokens/agents/agent-states.ts'
import type { Post } from '#server/users/messages/post.ts'
import { userById } from '#server/users/user-rows.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { KnownAgent, Review } from './review.ts'

export interface RoundParts {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn'>
  readonly lifecycle: Pick<Lifecycle, 'note'>
  readonly review: Pick<Review, 'agentsIn'>
  readonly messaging: Pick<Messaging, 'ready'>
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly baseUrl: string
}

const day = 24 * 60 * 60_000
/** An owner is reminded a week before, and of short periods half of it. */
const longestNotice = 7 * day
const template = 'agent-review'

const noticeOf = ({ doc: { reviewEvery } }: KnownAgent): number =>
  reviewEvery === undefined ? 0 : Math.min(longestNotice, milliseconds(reviewEvery) / 2)

export const createAgentRounds = (parts: RoundParts) => {
  const { storage, copy, clock, logger, lifecycle, review, messaging, post, baseUrl } = parts

  /** Before the review is due, and once more when it is overdue. */
  const isToRemind = (agent: KnownAgent): boolean => {
    const { status, next_review_at: due, reminded_at: reminded } = agent.state
    if (status !== 'ACTIVE' || agent.doc.reviewEvery === undefined || due === null) return false
    const now = clock.now()
    if (now < due - noticeOf(agent)) return false
    return reminded === null || (due <= now && reminded < due)
  }

  const letterTo = async (view: RealmView, agent: KnownAgent): Promise<Statement[]> => {
    const { owner_user_id: ownerId, next_review_at: due } = agent.state
    const owner = ownerId === null ? undefined : await userById(storage, ownerId)
    if (!owner || owner.email === null || owner.enabled !== 1) return []
    const mail = await messaging.ready(view, { channel: 'EMAIL', templateKey: template })
    if (!mail.ready) return []
    return post.statements({
      realm: view.realm,
      user: owner,
      channel: 'EMAIL',
      to: owner.email,
      cause: { by: 'notice' },
      templateKey: template,
      values: {
        application: agent.document.key,
        time: new Date(due ?? clock.now()).toISOString(),
        link: `${baseUrl}/realms/${view.realm}/account/agents`,
      },
      expiresAt: clock.now() + day,
    })
  }

  const remind = async (view: RealmView, agent: KnownAgent): Promise<void> => {
    const letter = await letterTo(view, agent)
    await storage.commit([moveAgent(storage, agent.state, { reminded_at: clock.now() }), ...letter])
    if (letter.length > 0) post.wake()
  }

  const look = async (view: RealmView, agent: KnownAgent): Promise<void> => {
    if (isToRemind(agent)) await remind(view, agent)
    if ((agent.standing.because ?? null) !== agent.state.noted_rule)
      await lifecycle.note(view, agent.document, agent.state, doneBy(systemCaller))
  }

  return async (signal: AbortSignal): Promise<void> => {
    for (const realm of await realmsWith(storage.db, Agent.kind)) {
      const view = await copy.fresh(realm)
      for (const agent of view ? await review.agentsIn(view) : []) {
        if (signal.aborted || !view) return
        try {
          await look(view, agent)
        } catch (error) {
          // One that was changed meanwhile is looked at again in the next round.
          logger.warn({ err: error, realm, agent: agent.document.key }, 'an agent was not reviewed')
        }
      }
    }
  }
}
