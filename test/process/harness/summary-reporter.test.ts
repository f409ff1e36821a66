import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { spawnScript } from '../../support/processes/processes.ts'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

describe('a test run', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'iamctl-summary-'))
    const reporter = JSON.stringify(path('../../support/run/summary-reporter.ts'))
    await writeFile(
      join(folder, 'vitest.config.mjs'),
      `import { SummaryReporter } from ${reporter}
       export default { test: { globals: true, reporters: ['default', new SummaryReporter()] } }`,
    )
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const lastLines = async (
    files: Readonly<Record<string, string>>,
    script = '../../../node_modules/vitest/vitest.mjs',
    args = ['run'],
  ): Promise<[string[], number]> => {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    const bin = path('../../../node_modules/.bin')
    const env = { PATH: `${bin}${delimiter}${process.env['PATH']}` }
    const run = spawnScript(path(script), args, { cwd: folder, env })
    const { code } = await run.exited
    return [run.stdout().trimEnd().split('\n').slice(-2), code ?? -1]
  }
  const lastLine = async (files: Readonly<Record<string, string>>): Promise<[string, number]> => {
    const [lines, code] = await lastLines(files)
    return [lines.at(-1) ?? '', code]
  }

  it('counts what passed', async () => {
    const files = { 'a.test.mjs': `it('a', () => {}); describe('d', () => { it('b', () => {}) })` }
    expect(await lastLine(files)).toEqual(['2 passed, 0 failed', 0])
  })

  it('counts a failed test, and says so when one is skipped', async () => {
    const files = {
      'a.test.mjs': `it('a', () => {}); it('b', () => expect(1).toBe(2)); it.skip('c', () => {})`,
    }
    expect(await lastLine(files)).toEqual(['1 passed, 1 failed, 1 skipped', 1])
  })

  it('counts a file that does not load, a failed hook and an unhandled error as failures', async () => {
    const files = {
      'good.test.mjs': `it('a', () => {})`,
      'import.test.mjs': `import './missing.mjs'; it('b', () => {})`,
      'hook.test.mjs': `describe('d', () => {
        afterAll(() => { throw new Error('hook') })
        it('c', () => {})
      })`,
      'stray.test.mjs': `it('d', async () => {
        void Promise.reject(new Error('stray'))
        await new Promise((resolve) => setImmediate(resolve))
      })`,
    }
    expect(await lastLine(files)).toEqual(['3 passed, 3 failed', 1])
  })

  describe('of npm', () => {
    const twice = (files: Readonly<Record<string, string>>) =>
      lastLines(files, '../../support/run/main.ts', [])
    const good = `it('a', () => {})`
    const once = `import { existsSync, writeFileSync } from 'node:fs'
      it('b', () => {
        const isFirst = !existsSync('begun')
        writeFileSync('begun', '')
        expect(isFirst).toBe(false)
      })`

    it('repeats a file that failed, and names it where it passes then', async () => {
      expect(await twice({ 'good.test.mjs': good, 'once.test.mjs': once })).toEqual([
        ['passed when tried again: once.test.mjs', '2 passed, 0 failed'],
        0,
      ])
    })

    it('fails where a file fails twice', async () => {
      const bad = `it('c', () => expect(1).toBe(2))`
      const [lines, code] = await twice({ 'once.test.mjs': once, 'bad.test.mjs': bad })
      expect([lines.at(-1), code]).toEqual(['1 passed, 1 failed', 1])
    })

    it('repeats nothing where many files fail', async () => {
      const many = Array.from({ length: 6 }, (_, n) => [
        `bad-${n}.test.mjs`,
        `it('c', () => expect(1).toBe(2))`,
      ])
      const [lines, code] = await twice(Object.fromEntries(many))
      expect([lines.at(-1), code]).toEqual(['0 passed, 6 failed', 1])
    })
  })
})
