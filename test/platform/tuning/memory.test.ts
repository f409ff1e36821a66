import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const memory = fileURLToPath(new URL('../../../server/platform/tuning/memory.ts', import.meta.url))

// In a process of its own, because flags and heap are of the process.
it('lets the space for new objects grow to its bound and no further', () => {
  const script = `
    const { getHeapSpaceStatistics } = await import('node:v8')
    const { setImmediate: turn } = await import('node:timers/promises')
    const { boundNewObjects } = await import(${JSON.stringify(memory)})
    const megabytes = () =>
      getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20
    const alive = []
    let made = 0
    const work = async () => {
      for (let round = 0; round < 1000; round += 1) {
        for (let n = 0; n < 10_000; n += 1) alive[made++ % 40_000] = { n, list: [n, made] }
        await turn()
      }
      return megabytes()
    }
    const end = boundNewObjects()
    console.log(await work())
    end()`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { encoding: 'utf8' },
  )
  expect(stderr).toBe('')
  // V8 itself stops earlier where a busy machine lets it do little.
  expect(Number(stdout)).toBeGreaterThan(0)
  expect(Number(stdout)).toBeLessThanOrEqual(32)
})
