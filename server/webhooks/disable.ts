/** Disables a webhook whose receiver is gone: an ordinary write, by the system, with a SECURITY event beside it. */

import { Webhook } from '#schemas/kinds/notifications/webhook.ts'
import { Problem } from '#schemas/problems.ts'
import { systemCaller } from '#server/http/caller.ts'
import { editOf, restChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'

export type DisableWebhook = (webhook: StoredDocument, reason: string) => Promise<void>

export const createDisableWebhook =
  (writer: Writer): DisableWebhook =>
  async (webhook, reason) => {
    const { realm, id, body } = webhook
    const event = {
      type: 'WEBHOOK_DISABLED',
      realm,
      actor: systemCaller.actor,
      sourceIp: systemCaller.sourceIp,
      outcome: 'SUCCESS',
      resourceType: Webhook.resourceType,
      resourceId: id,
      detail: reason,
    } as const
    try {
      await writer.write({
        realm,
        caller: systemCaller,
        channel: restChannel,
        message: `disabled: ${reason}`,
        operations: [
          editOf(Webhook, webhook, (before) =>
            // Another receiver may have been given meanwhile: the reason is not about that one.
            before['url'] === body['url'] ? { ...before, enabled: false } : before,
          ),
        ],
        // It may have been disabled concurrently.
        alongside: (effects) => ({ statements: [], events: effects.length > 0 ? [event] : [] }),
      })
    } catch (error) {
      // Deleted meanwhile: nothing is sent to it either way.
      if (!(error instanceof Problem && error.code === 'not-found')) throw error
    }
  }
