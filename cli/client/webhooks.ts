/** Calls about the deliveries of webhooks. */

import { type Call, path } from './http/call.ts'

export interface DeliveryRecord {
  readonly id: string
  readonly status: 'PENDING' | 'DELIVERED' | 'FAILED'
  readonly eventId: string | null
  readonly eventType: string | null
  readonly attempts: number
  readonly createdAt: number
  readonly nextAttemptAt: number | null
  readonly finishedAt: number | null
  readonly lastAttemptAt: number | null
  readonly responseStatus: number | null
  readonly durationMs: number | null
  readonly reason: string | null
}

export interface TestOutcome {
  readonly id: string
  readonly delivered: boolean
  readonly responseStatus: number | null
  readonly durationMs: number
  readonly reason: string | null
}

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
    async test(realm: string, webhook: string): Promise<TestOutcome> {
      return (await call<TestOutcome>('POST', `${one(realm, webhook)}/test`)).body
    },
  }
}
