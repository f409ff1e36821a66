/** Commands that run one after another in one process see and report what they would in processes of their own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { canBeWarm, type Ended, runWarm } from '../../support/processes/warm/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'iamctl-warm-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (
  source: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  cwd = folder,
): Promise<Ended> => {
  const script = join(folder, `${Math.random()}.mjs`)
  writeFileSync(script, source)
  return runWarm({ script, args, cwd, env }, 10_000)
}

const processId = async (): Promise<string> => (await run('console.log(process.pid)')).stdout

describe('a command in a process that has run others', () => {
  it('has arguments, environment and folder of its own', async () => {
    const source =
      'console.log(JSON.stringify([process.argv.slice(2), process.env, process.cwd()]))'
    await run(source, ['before'], { BEFORE: '1' }, tmpdir())
    const { stdout } = await run(source, ['a', 'b'], { NAME: 'value' })
    expect(JSON.parse(stdout)).toEqual([['a', 'b'], { NAME: 'value' }, folder])
  })

  it('reports both streams and the exit code of this run alone', async () => {
    const failed = await run(`console.log('out\\0'); console.error('bad'); process.exitCode = 3`)
    expect(failed).toEqual({ code: 3, stdout: 'out\0\n', stderr: 'bad\n' })
    expect(await run('')).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('ends with its last open handle, in the same process', async () => {
    const before = await processId()
    const { stdout } = await run(`setTimeout(() => console.log('late'), 50); console.log('early')`)
    expect(stdout).toBe('early\nlate\n')
    expect(await processId()).toBe(before)
  })

  it('leaves no listener behind', async () => {
    const before = await processId()
    await run(`process.on('SIGTERM', () => {}); process.stdout.on('error', () => {})`)
    const { stdout } = await run(
      `console.log(process.listenerCount('SIGTERM'), process.stdout.listenerCount('error'))`,
    )
    expect(stdout).toBe('0 0\n')
    expect(await processId()).toBe(before)
  })

  it.each([
    ['process.exit', `console.log('said'); process.exit(4)`, 4],
    ['a thrown error', `console.log('said'); throw new Error('told')`, 1],
    ['a listener for the end', `console.log('said'); process.on('exit', () => {})`, 0],
  ])('takes its process with it by %s', async (_, source, code) => {
    const before = await processId()
    expect(await run(source)).toMatchObject({ code, stdout: 'said\n' })
    expect(await processId()).not.toBe(before)
  })

  it('fails with 13 where nothing settles its last promise, as with Node.js', async () => {
    expect(await run('await new Promise(() => {})')).toMatchObject({ code: 13 })
  })

  it('has no code where it was ended after its time', async () => {
    const script = join(folder, 'endless.mjs')
    writeFileSync(script, 'setInterval(() => {}, 1000)')
    const ended = await runWarm({ script, args: [], cwd: folder, env: {} }, 200)
    expect(ended.code).toBeUndefined()
  })
})

it.each([
  [['server'], {}],
  [['plan', '-'], {}],
  [['get', '--debug'], {}],
  [['get'], { NODE_OPTIONS: '' }],
])('%j with %j gets a process of its own', (args, env) => {
  expect(canBeWarm({ args, env })).toBe(false)
})
