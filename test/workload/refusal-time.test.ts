/** Refusals of workload JWTs take one time, whatever happens before. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRefusalTime } from '#server/provisioning/workload/refusal-time.ts'

describe('the time of a refusal', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const times = { refusalMs: 1000, mostWaiting: 2 }
  /** How far the clock is when the promise resolves. */
  const timeOf = async (promise: Promise<void>): Promise<number> => {
    const begun = performance.now()
    let at: number | undefined
    const seen = promise.then(() => {
      at = performance.now() - begun
    })
    for (let i = 0; i < 2000 && at === undefined; i += 1) await vi.advanceTimersByTimeAsync(1)
    await seen
    return at ?? Number.NaN
  }

  it('is the same after any work that takes less', async () => {
    const refusalTime = createRefusalTime(times)
    for (const worked of [0, 3, 500, 950, 999])
      expect(worked + (await timeOf(refusalTime(worked)))).toBe(1000)
  })

  it('is over where the work took longer', async () => {
    expect(await timeOf(createRefusalTime(times)(1500))).toBeLessThan(2)
  })

  it('is cut short in a flood, for the one that has waited longest', async () => {
    const refusalTime = createRefusalTime(times)
    const ended: number[] = []
    const all = [0, 1, 2, 3].map(async (place) => {
      await refusalTime(0)
      ended.push(place)
    })
    await vi.advanceTimersByTimeAsync(10)
    expect(ended).toEqual([0, 1])
    await vi.advanceTimersByTimeAsync(1000)
    await Promise.all(all)
    expect(ended).toEqual([0, 1, 2, 3])
    expect(await timeOf(refusalTime(0))).toBe(1000)
  })
})
