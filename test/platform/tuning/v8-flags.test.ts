import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const memory = fileURLToPath(new URL('../../../server/platform/tuning/memory.ts', import.meta.url))

// In a process of its own, because the flags are of the process.
it('sets no flag that V8 does not know', () => {
  const script = `
    const { boundGarbage, boundNewObjects } = await import(${JSON.stringify(memory)})
    boundGarbage()
    boundNewObjects()()
    console.log('done')`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { encoding: 'utf8' },
  )
  expect({ stdout, stderr }).toEqual({ stdout: 'done\n', stderr: '' })
})
