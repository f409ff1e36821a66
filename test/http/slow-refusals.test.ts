/** Refusals over the budget of their realm wait; the number of those that wait is bounded. */

import { describe, expect, it } from 'vitest'
import { createSlowRefusals } from '#server/http/limits/slow-refusals.ts'

const budget = { perSecond: 10, burst: 3, waitMs: 300, mostWaiting: 2 }

describe('slow refusals', () => {
  it('wait over the budget of a realm, and two of them at most', async () => {
    let now = 1_000_000
    const delayed: string[] = []
    const metrics = { refusalDelayed: (realm: string) => delayed.push(realm) }
    const slow = createSlowRefusals({ clock: { now: () => now }, metrics }, budget)
    const began = performance.now()
    const order: string[] = []
    const refuse = async (name: string, realm = 'acme'): Promise<void> => {
      await slow(realm)
      order.push(name)
    }
    await Promise.all([
      ...['1', '2', '3', 'late', 'later', 'crowded'].map((name) => refuse(name)),
      refuse('of another realm', 'shop'),
    ])
    expect(performance.now() - began).toBeGreaterThan(budget.waitMs - 5)
    expect(order.slice(-2)).toEqual(['late', 'later'])
    expect(delayed).toEqual(['acme', 'acme'])
    // A tenth of a second later the realm has one more.
    now += 100
    await refuse('in time')
    expect(delayed).toEqual(['acme', 'acme'])
    await refuse('late again')
    expect(delayed).toEqual(['acme', 'acme', 'acme'])
  })
})
