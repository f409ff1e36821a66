/** Work that waits for its turn. */

import { describe, expect, it } from 'vitest'
import { createTurns } from '#server/platform/turns.ts'

describe('turns', () => {
  it('let no more pieces of work run at once than they may, and all of them in their order', async () => {
    const inTurn = createTurns(2)
    const begun: number[] = []
    let running = 0
    let most = 0
    await Promise.all(
      [0, 1, 2, 3, 4].map((n) =>
        inTurn(async () => {
          begun.push(n)
          running += 1
          most = Math.max(most, running)
          await new Promise((resolve) => setImmediate(resolve))
          running -= 1
        }),
      ),
    )
    expect(begun).toEqual([0, 1, 2, 3, 4])
    expect(most).toBe(2)
  })

  it('pass on what the work gives or throws, and go on after a failure', async () => {
    const inTurn = createTurns(1)
    const failed = inTurn(() => Promise.reject(new Error('broken')))
    await expect(failed).rejects.toThrow('broken')
    await expect(inTurn(async () => 7)).resolves.toBe(7)
  })
})
