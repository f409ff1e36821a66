/** Calls about the deliveries of webhooks. */

import type { DeliveryRecord, TestDelivery } from '#schemas/wire/records.ts'
import { type Call, path } from './http/call.ts'

export interface MadeSecret {
  readonly value: string
  readonly createdAt: number
}

const atOnce = 1000

export const webhookCalls = (call: Call) => {
  const one = (realm: string, webhook: string): string =>
    path`/admin/realms/${realm}/webhooks/${webhook}`
  return {
    /** Newest first. */
    async deliveries(
      realm: string,
      webhook: string,
      { status, limit }: { readonly status?: string; readonly limit: number },
    ): Promise<DeliveryRecord[]> {
      const found = new Map<string, DeliveryRecord>()
      for (;;) {
        const first = found.size
        const max = Math.min(atOnce, limit - first)
        const { body } = await call<DeliveryRecord[]>('GET', `${one(realm, webhook)}/deliveries`, {
          query: { status, first, max },
        })
        // New ones move the others to the next page.
        for (const delivery of body) found.set(delivery.id, delivery)
        if (body.length < max || found.size >= limit || found.size === first)
          return [...found.values()]
      }
    },
    async redeliver(realm: string, webhook: string, id: string): Promise<DeliveryRecord> {
      const where = one(realm, webhook) + path`/deliveries/${id}/redeliver`
      return (await call<DeliveryRecord>('POST', where)).body
    },
    async newSecret(realm: string, webhook: string): Promise<MadeSecret> {
      return (await call<MadeSecret>('POST', `${one(realm, webhook)}/secret`)).body
    },
    async test(realm: string, webhook: string): Promise<TestDelivery> {
      return (await call<TestDelivery>('POST', `${one(realm, webhook)}/test`)).body
    },
  }
}
