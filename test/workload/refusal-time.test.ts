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

  const times = { refusalMs: 1000, keysMs: 900, mostWaiting: 2 }
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

  it('is the same after any work, and later than the end of the wait for keys', async () => {
    const begin = createRefusalTime(times)
    for (const worked of [0, 3, 500, 950]) {
      const turn = begin()
      await vi.advanceTimersByTimeAsync(worked)
      expect(worked + (await timeOf(turn.over()))).toBe(1000)
      turn.end()
    }
    expect(await timeOf(begin().patience)).toBe(900)
  })

  it('is not waited for, nor are keys, by requests beyond those that may wait', async () => {
    const begin = createRefusalTime(times)
    const [first] = [begin(), begin()]
    const beyond = begin()
    await Promise.all([beyond.patience, beyond.over()])
    beyond.end()
    first?.end()
    expect(await timeOf(begin().over())).toBe(1000)
  })
})
