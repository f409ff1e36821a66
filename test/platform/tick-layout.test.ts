/** What becomes of the fast code of `process.nextTick` when memory is collected while nothing is under way. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const script = fileURLToPath(new URL('./tick-layout-probe.ts', import.meta.url))

const probe = async (...args: readonly string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, ...args])
  return stdout
}

describe('the fast code of ticks', () => {
  it('is thrown away if nothing is done about it', async () => {
    expect(await probe()).toBe('false')
  })

  it('stays, once their layout is kept', async () => {
    expect(await probe('kept')).toBe('true')
  })
})
