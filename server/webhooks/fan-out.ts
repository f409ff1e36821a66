/**
 * Makes a delivery of every event for every webhook of its realm that subscribes to it. A delivery names the event
 * and holds no copy of it, so that what is personal in it stays where erasure and retention find it.
 */

import { Webhook, type WebhookDoc } from '#schemas/kinds/notifications/webhook.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { type Follower, startFollower } from '#server/audit/follower.ts'
import type { Outbox, OutboxEvent } from '#server/audit/outbox.ts'
import type { NewJob } from '#server/jobs/job.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { isAnyOfKind } from '#server/storage/documents/reads.ts'

export const webhookQueue = 'webhook'

/** What a delivery remembers: the row of the event. */
export interface DeliveryPayload {
  readonly event: number
}

export interface FanOutParts {
  readonly storage: Pick<Storage, 'db' | 'commit' | 'dialect'>
  readonly copy: Pick<Copy, 'fresh'>
  readonly outbox: Outbox
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  readonly logger: Pick<Logger, 'error'>
}

/** Whether a list such as `LOGIN_*, KEY_ROTATED` names the type. */
const subscribes = (eventTypes: string, type: string): boolean =>
  eventTypes.split(',').some((entry) => {
    const pattern = entry.trim()
    return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern
  })

const deliveryOf = (webhook: StoredDocument, event: OutboxEvent): NewJob => ({
  realm: webhook.realm,
  target: webhook.id,
  key: `${webhook.id}/${event.event_id}`,
  payload: { event: event.id } satisfies DeliveryPayload,
})

export const startFanOut = ({ storage, copy, outbox, jobs, logger }: FanOutParts): Follower => {
  const enabledIn = async (realm: string): Promise<readonly StoredDocument[]> => {
    // A deleted realm has no webhooks.
    const view = await copy.fresh(realm)
    const all = view ? await view.list(Webhook.kind) : []
    return all.filter((webhook) => contentOf<WebhookDoc>(webhook).enabled)
  }

  const make = async (events: readonly OutboxEvent[]): Promise<readonly Statement[]> => {
    const realms = new Set(events.map(({ realm }) => realm))
    const webhooks = new Map<string, readonly StoredDocument[]>()
    for (const realm of realms) webhooks.set(realm, await enabledIn(realm))
    const deliveries = events.flatMap((event) =>
      (webhooks.get(event.realm) ?? [])
        .filter((webhook) => subscribes(contentOf<WebhookDoc>(webhook).eventTypes, event.type))
        .map((webhook) => deliveryOf(webhook, event)),
    )
    return jobs.enqueueStatements(webhookQueue, deliveries)
  }

  return startFollower({
    name: 'webhooks',
    outbox,
    storage,
    logger,
    wanted: () => isAnyOfKind(storage.db, Webhook.kind),
    changesWanted: ({ category, resourceType }) =>
      category === 'ADMIN' && resourceType !== User.resourceType,
    make,
    made: () => jobs.wake(webhookQueue),
  })
}
