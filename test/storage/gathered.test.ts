/** Concurrent reads share a query that begins after them. */

import { describe, expect, it } from 'vitest'
import { gathered } from '#server/storage/gathered.ts'

const doubled = (keys: readonly number[]): number[] => keys.map((key) => 2 * key)

describe('gathered questions', () => {
  it('of one turn are one query, each with its own answer', async () => {
    const queries: number[][] = []
    const ask = gathered(10, async (keys: readonly number[]) => {
      queries.push([...keys])
      return doubled(keys)
    })
    expect(await Promise.all([ask(1), ask(2), ask(3)])).toEqual([2, 4, 6])
    expect(queries).toEqual([[1, 2, 3]])
  })

  it('that come while a query runs wait for one that begins after them', async () => {
    const queries: number[][] = []
    let later: Promise<number> | undefined
    const ask = gathered(10, async (keys: readonly number[]) => {
      queries.push([...keys])
      later ??= ask(2)
      return doubled(keys)
    })
    expect(await ask(1)).toBe(2)
    expect(await later).toBe(4)
    expect(queries).toEqual([[1], [2]])
  })

  it('are no more in one query than it takes', async () => {
    const sizes: number[] = []
    const ask = gathered(2, async (keys: readonly number[]) => {
      sizes.push(keys.length)
      return doubled(keys)
    })
    expect(await Promise.all([1, 2, 3, 4, 5].map(ask))).toEqual([2, 4, 6, 8, 10])
    expect(sizes).toEqual([2, 2, 1])
  })

  it('fail with their query, and only with theirs', async () => {
    const ask = gathered(1, async (keys: readonly number[]) => {
      if (keys.includes(1)) throw new Error('broken')
      return doubled(keys)
    })
    const [first, second] = await Promise.allSettled([ask(1), ask(2)])
    expect(first.status).toBe('rejected')
    expect(second).toEqual({ status: 'fulfilled', value: 4 })
  })
})
