/** Refusals over the budget of their realm wait; the number of those that wait is bounded. */

import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createSlowRefusals } from '#server/http/limits/slow-refusals.ts'

const budget = { perSecond: 10, burst: 3, waitMs: 1000, mostWaiting: 2 }

describe('slow refusals', () => {
  it('wait over the budget of a realm, and two of them at most', async () => {
    let now = 1_000_000
    const slow = createSlowRefusals({ now: () => now }, budget)
    const began = performance.now()
    const order: string[] = []
    const refuse = async (name: string, realm = 'acme'): Promise<void> => {
      await slow(realm)
      order.push(name)
    }
    const all = ['1', '2', '3', 'late', 'later', 'crowded'].map((name) => refuse(name))
    all.push(refuse('of another realm', 'shop'))
    await setImmediate()
    expect(order.toSorted()).toEqual(['1', '2', '3', 'crowded', 'of another realm'])
    // A tenth of a second later the realm has one more.
    now += 100
    await refuse('in time')
    expect(order).not.toContain('late')
    await Promise.all(all)
    expect(order.slice(-2)).toEqual(['late', 'later'])
    expect(performance.now() - began).toBeGreaterThan(budget.waitMs - 5)
  })
})
