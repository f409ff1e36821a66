/** Refusals over the budget of their realm leave at its pace; how long and how many of them wait is bounded. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSlowRefusals } from '#server/http/limits/slow-refusals.ts'

const budget = { perSecond: 10, burst: 3, longestMs: 500, mostWaiting: 8 }

describe('slow refusals', () => {
  let delayed: string[]
  let sent: { readonly name: string; readonly ms: number }[]
  let refuse: (name: string, realm?: string) => Promise<void>
  let begun: number

  beforeEach(() => {
    vi.useFakeTimers()
    delayed = []
    sent = []
    begun = Date.now()
    const clock = { now: () => Date.now() }
    const metrics = { refusalDelayed: (realm: string) => delayed.push(realm) }
    const slow = createSlowRefusals({ clock, metrics }, budget)
    refuse = async (name, realm = 'acme') => {
      await slow(realm)
      sent.push({ name, ms: Date.now() - begun })
    }
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const refuseAll = (names: readonly string[]) => Promise.all(names.map((name) => refuse(name)))
  const passed = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  it('leave at once up to the burst, then one after the other at the pace of the realm', async () => {
    const all = refuseAll(['1', '2', '3', 'fourth', 'fifth', 'sixth'])
    const other = refuse('of another realm', 'shop')
    await passed(1000)
    await Promise.all([all, other])
    expect(sent).toEqual([
      { name: '1', ms: 0 },
      { name: '2', ms: 0 },
      { name: '3', ms: 0 },
      { name: 'of another realm', ms: 0 },
      { name: 'fourth', ms: 100 },
      { name: 'fifth', ms: 200 },
      { name: 'sixth', ms: 300 },
    ])
    expect(delayed).toEqual(['acme', 'acme', 'acme'])
  })

  it('a caller that sends in a loop over some connections is held to that pace', async () => {
    const loop = async (name: string): Promise<void> => {
      while (Date.now() - begun < 10_000) await refuse(name)
    }
    const loops = ['a', 'b', 'c', 'd'].map(loop)
    await passed(11_000)
    await Promise.all(loops)
    expect(sent.length).toBeGreaterThanOrEqual(100)
    expect(sent.length).toBeLessThanOrEqual(110)
  })

  it('the burst comes back with a pause', async () => {
    await refuseAll(['1', '2', '3'])
    await passed(200)
    await refuseAll(['4', '5'])
    expect(delayed).toEqual([])
    const late = refuse('6')
    await passed(100)
    await late
    expect(delayed).toEqual(['acme'])
  })

  it('wait for a bounded time, in a bounded number', async () => {
    const names = Array.from({ length: 12 }, (_, index) => String(index + 1))
    const all = refuseAll(names)
    await passed(budget.longestMs)
    await all
    expect(sent.filter(({ ms }) => ms === 0).map(({ name }) => name)).toEqual(['1', '2', '3', '12'])
    expect(sent.filter(({ ms }) => ms === budget.longestMs)).toHaveLength(4)
    expect(delayed).toHaveLength(budget.mostWaiting)
  })

  it('a clock that is set back holds nothing up for longer', async () => {
    await refuseAll(['1', '2', '3'])
    vi.setSystemTime(begun - 3_600_000)
    const late = refuse('late')
    await passed(budget.longestMs)
    await late
    expect(sent.at(-1)?.name).toBe('late')
  })
})
