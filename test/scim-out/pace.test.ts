/** `rateLimit`: requests at even distances, and none for a caller who has given up. */
import { describe, expect, it } from 'vitest'
import { createPace } from '#server/provisioning/scim/out/protocol/pace.ts'

describe('the pace of requests to a SCIM target', () => {
  it('lets the nth request go no sooner than n distances after the first, however many come at once', async () => {
    const pace = createPace(50)
    const began = performance.now()
    const went = await Promise.all(
      Array.from({ length: 10 }, async () => {
        await pace()
        return performance.now() - began
      }),
    )
    // A timer may fire a millisecond early.
    for (const [n, at] of went.entries()) expect(at).toBeGreaterThanOrEqual(n * 20 - 2)
  })

  it('does not keep a caller who has given up', async () => {
    const pace = createPace(1)
    await pace()
    await expect(pace(AbortSignal.abort())).rejects.toThrow()
  })

  it('is none without a limit', async () => {
    const pace = createPace(undefined)
    for (let n = 0; n < 1000; n += 1) await pace()
  })
})
