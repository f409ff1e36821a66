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
    const begin = createRefusalTime(times)
    for (const worked of [0, 3, 500, 950, 1000]) {
      const inTime = begin()
      await vi.advanceTimersByTimeAsync(worked)
      expect(worked + (await timeOf(inTime()))).toBe(1000)
    }
  })

  it('is over where the work took longer', async () => {
    const inTime = createRefusalTime(times)()
    await vi.advanceTimersByTimeAsync(1500)
    await inTime()
  })

  it('is not waited for by refusals beyond those that may wait', async () => {
    const begin = createRefusalTime(times)
    const both = [begin()(), begin()()]
    await begin()()
    await timeOf(Promise.all(both).then(() => undefined))
    expect(await timeOf(begin()())).toBe(1000)
  })
})
