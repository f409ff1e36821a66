/** How V8 holds requests and responses of a server that is asked seldom at first. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const script = fileURLToPath(new URL('./object-shapes-probe.ts', import.meta.url))

const probe = async (...args: readonly string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, ...args])
  return stdout
}

describe('requests and responses of a server that is asked once in a while', () => {
  it('are dictionaries if nothing is done about it', async () => {
    expect(await probe()).toBe('false')
  })

  it('are not, once their shapes are settled', async () => {
    expect(await probe('settled')).toBe('true')
  })
})
