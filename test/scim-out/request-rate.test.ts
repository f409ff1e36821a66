/** `rateLimit`: requests at even distances, and none for a caller who has given up. */
import { describe, expect, it } from 'vitest'
import { createRequestRate } from '#server/provisioning/scim/out/protocol/request-rate.ts'

describe('the rate of requests to a SCIM target', () => {
  it('lets the nth request go no sooner than n distances after the first, however many come at once', async () => {
    const awaitTurn = createRequestRate(50)
    const began = performance.now()
    const went = await Promise.all(
      Array.from({ length: 10 }, async () => {
        await awaitTurn()
        return performance.now() - began
      }),
    )
    // A timer may fire a millisecond early.
    for (const [n, at] of went.entries()) expect(at).toBeGreaterThanOrEqual(n * 20 - 2)
  })

  it('does not keep a caller who has given up', async () => {
    const awaitTurn = createRequestRate(1)
    await awaitTurn()
    await expect(awaitTurn(AbortSignal.abort())).rejects.toThrow()
  })

  it('is none without a limit', async () => {
    const awaitTurn = createRequestRate(undefined)
    for (let n = 0; n < 1000; n += 1) await awaitTurn()
  })
})
