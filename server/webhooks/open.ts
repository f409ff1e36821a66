/** Opens webhooks: the fan-out of events to deliveries, and the job that sends them. */

import type { AuditArea } from '#server/audit/open.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { RealmArea } from '#server/realm/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { webhookDeliveries } from './deliveries.ts'
import { createDisableWebhook } from './disable.ts'
import { startFanOut } from './fan-out.ts'
import { createSender } from './sender.ts'

export interface WebhookNeeds {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly logger: Logger
  readonly outgoing: Outgoing
  readonly vault: Pick<Vault, 'reveal'>
  readonly jobs: Jobs
  readonly audit: Pick<AuditArea, 'outbox' | 'readRecords'>
  readonly realm: Pick<RealmArea, 'writer'>
}

export const openWebhooks = (needs: WebhookNeeds) => {
  const { storage, copy, clock, logger, outgoing, vault, jobs, audit, realm } = needs
  const { outbox, readRecords } = audit
  const send = createSender({ storage, clock, outgoing, reveal: vault.reveal })
  const disable = createDisableWebhook(realm.writer)
  return {
    send,
    handler: webhookDeliveries({ storage, copy, clock, send, readRecords, disable }),
    start: () => startFanOut({ storage, copy, outbox, jobs, logger }),
  }
}

export type WebhooksArea = ReturnType<typeof openWebhooks>
