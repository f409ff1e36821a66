/** Opens agents: their lifecycle, their review, and the round that time makes necessary. */

import type { Recorder } from '#server/audit/audit.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import type { UsersArea } from '#server/users/open.ts'
import { createLifecycle } from './lifecycle.ts'
import { createReview } from './review.ts'
import { createAgentRounds } from './rounds.ts'

export interface AgentNeeds {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly logger: Logger
  readonly recorder: Recorder
  readonly messaging: Pick<Messaging, 'ready'>
  readonly users: Pick<UsersArea, 'post'>
  readonly tokens: Pick<TokensArea, 'grantsStore'>
  readonly baseUrl: string
}

export const openAgents = (needs: AgentNeeds) => {
  const { storage, copy, clock, logger, recorder, messaging, baseUrl } = needs
  const { grantsStore } = needs.tokens
  const { post } = needs.users
  const lifecycle = createLifecycle({ storage, clock, recorder, grantsStore })
  const review = createReview({ storage, clock })
  return {
    lifecycle,
    review,
    round: createAgentRounds({
      storage,
      copy,
      clock,
      logger,
      lifecycle,
      review,
      messaging,
      post,
      baseUrl,
    }),
  }
}

export type AgentsArea = ReturnType<typeof openAgents>
