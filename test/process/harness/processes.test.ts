import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endProcesses, spawnScript } from '../../support/processes/processes.ts'

/** A process that has ended but was not waited for (a container without init) counts as dead. */
const zombie = (pid: number): boolean => {
  const file = `/proc/${pid}/stat`
  return existsSync(file) && readFileSync(file, 'utf8').includes(') Z ')
}

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !zombie(pid)
  } catch {
    return false
  }
}

describe('a process that a test starts', () => {
  let folder = ''
  const script = async (name: string, source: string): Promise<string> => {
    const file = join(folder, name)
    await writeFile(file, source)
    return file
  }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'iamctl-processes-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('reports its lines, its output and how it ended', async () => {
    const file = await script(
      'speak.mjs',
      `console.log('port', 12); console.error('bad'); process.exitCode = 3`,
    )
    const speaker = spawnScript(file, [])
    expect((await speaker.waitForLine(/^port (\d+)$/))[1]).toBe('12')
    expect(await speaker.exited).toEqual({ code: 3, signal: null })
    expect([speaker.stdout(), speaker.stderr()]).toEqual(['port 12\n', 'bad\n'])
    await expect(speaker.waitForLine(/^bad$/)).resolves.toBeDefined()
  })

  it('fails a wait for a line when it ends without writing one', async () => {
    const file = await script('silent.mjs', `console.error('no such option')`)
    await expect(spawnScript(file, []).waitForLine(/ready/)).rejects.toThrow(/no such option/)
  })

  it('inherits no setting of the CLI', async () => {
    const file = await script('env.mjs', `console.log(Object.keys(process.env).join(' '))`)
    process.env['IAMCTL_PORT'] = '1'
    const child = spawnScript(file, [], { env: { IAMCTL_HOST: '127.0.0.1' } })
    delete process.env['IAMCTL_PORT']
    await child.exited
    expect(child.stdout()).toContain('IAMCTL_HOST')
    expect(child.stdout()).not.toMatch(/IAMCTL_PORT|VITEST/)
  })

  it('is killed with its own children at the end of the file', async () => {
    const file = await script(
      'parent.mjs',
      `import { spawn } from 'node:child_process'
       process.on('SIGTERM', () => {})
       const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
       console.log('child', child.pid)
       setInterval(() => {}, 1000)`,
    )
    const parent = spawnScript(file, [])
    const pid = Number((await parent.waitForLine(/^child (\d+)$/))[1])
    await endProcesses()
    expect(await parent.exited).toEqual({ code: null, signal: 'SIGKILL' })
    while (alive(pid)) await new Promise((resolve) => setTimeout(resolve, 20))
  })

  it('does not outlive a test worker that is killed', async () => {
    const sleeper = await script('sleep.mjs', `setInterval(() => {}, 1000)`)
    const module = fileURLToPath(new URL('../../support/processes/processes.ts', import.meta.url))
    const worker = await script(
      'worker.mjs',
      `import { spawnScript } from ${JSON.stringify(module)}
       console.log('sleeper', spawnScript(${JSON.stringify(sleeper)}, []).child.pid)`,
    )
    const owner = spawnScript(worker, [])
    const pid = Number((await owner.waitForLine(/^sleeper (\d+)$/))[1])
    expect(alive(pid)).toBe(true)
    owner.kill('SIGKILL')
    while (alive(pid)) await new Promise((resolve) => setTimeout(resolve, 20))
  })
})
