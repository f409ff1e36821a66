/** Memory of the start is returned, and no function for it stays on the global object. */
import { getHeapSpaceStatistics } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { giveBackMemory } from '#server/platform/tuning/memory.ts'

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0

/** Objects that live for a while make V8 give them more room. */
const growYoungSpace = (): void => {
  for (let round = 0; round < 50; round += 1)
    Array.from({ length: 50_000 }, (_, n) => ({ n, text: String(n) })).sort(() => 0)
}

it('makes the space of young objects small again', () => {
  growYoungSpace()
  const before = youngBytes()
  giveBackMemory()
  expect(youngBytes()).toBeLessThan(before / 2)
  expect(runInNewContext('typeof gc')).toBe('undefined')
  expect(globalThis).not.toHaveProperty('gc')
})
