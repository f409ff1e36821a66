/** How `iamctl dev` ends, and what it leaves behind: nothing, or what it was asked to keep. */
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { signIn } from '../../support/processes/browserless.ts'
import { spawnCli } from '../../support/processes/processes.ts'
import { temporaryFolder } from '../../support/processes/server-process.ts'
import {
  type DevProcess,
  isListening,
  newEstate,
  startDev,
  type Told,
  untilGone,
} from './dev-process.ts'

const stop = async (dev: DevProcess, signal: NodeJS.Signals = 'SIGINT'): Promise<void> => {
  dev.process.kill(signal)
  expect(await dev.process.exited).toEqual({ code: 0, signal: null })
}

const dataOf = (dev: DevProcess): string => dev.told('starting')[0]?.['data']

const passwordOf = (dev: DevProcess): string => dev.told('server-ready')[0]?.['admin'].password

const usersOf = async (dev: DevProcess): Promise<readonly Told[]> =>
  (await dev.wait('realms'))['users']

/** Keeps the server from stopping at once: a sign-in whose form never arrives. */
const holdRequest = async ({ port }: DevProcess): Promise<void> => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  socket.write(
    [
      'POST /realms/acme/login HTTP/1.1',
      'host: 127.0.0.1',
      'content-type: application/x-www-form-urlencoded',
      'content-length: 100',
      'expect: 100-continue',
      '\r\n',
    ].join('\r\n'),
  )
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('100 Continue')
}

/** Gentle, and nothing stays behind. */
const expectGone = async (dev: DevProcess, signal: NodeJS.Signals): Promise<void> => {
  const data = dataOf(dev)
  expect(existsSync(data)).toBe(true)
  await stop(dev, signal)
  expect(await isListening(dev)).toBe(false)
  expect(existsSync(data)).toBe(false)
  expect(dev.told('stopped')).toEqual([expect.objectContaining({ kept: false })])
  expect(dev.process.stderr()).toBe('')
}

describe('dev that is asked to stop', () => {
  it('by SIGHUP leaves no server and no folder', async () => {
    const dev = await startDev(newEstate())
    await dev.wait('ready')
    await expectGone(dev, 'SIGHUP')
  })

  it('by Ctrl-C, which every process of the terminal gets, stops as gently', async () => {
    const dev = await startDev(newEstate())
    await dev.wait('ready')
    process.kill(-(dev.process.child.pid ?? 0), 'SIGINT')
    expect(await dev.process.exited).toEqual({ code: 0, signal: null })
    expect(await isListening(dev)).toBe(false)
  })

  it('before its server is there stops as well', async () => {
    const dev = await startDev(newEstate())
    const { data } = await dev.wait('starting')
    await stop(dev)
    expect(existsSync(data)).toBe(false)
    expect(await isListening(dev)).toBe(false)
  })

  it('a second time does not wait, and leaves nothing either', async () => {
    const dev = await startDev(newEstate())
    await dev.wait('ready')
    const data = dataOf(dev)
    await holdRequest(dev)
    dev.process.kill('SIGINT')
    await dev.wait('stopping')
    dev.process.kill('SIGINT')
    expect(await dev.process.exited).toEqual({ code: 130, signal: null })
    await untilGone(dev)
    expect(existsSync(data)).toBe(false)
  })
})

describe('dev that is killed', () => {
  it('takes its server along', async () => {
    const dev = await startDev(newEstate())
    await dev.wait('ready')
    // No process is left that could remove it.
    onTestFinished(() => rmSync(dataOf(dev), { recursive: true, force: true }))
    dev.process.kill('SIGKILL')
    await dev.process.exited
    await untilGone(dev)
  })
})

describe('a server that is lost', () => {
  it('ends dev with exit code 1, and its data go', async () => {
    const dev = await startDev(newEstate())
    const { pid } = await dev.wait('server-ready')
    process.kill(pid, 'SIGKILL')
    expect(await dev.process.exited).toEqual({ code: 1, signal: null })
    expect(dev.process.stderr()).toContain('the server ended by itself (SIGKILL)')
    expect(existsSync(dataOf(dev))).toBe(false)
  })
})

describe('data that are kept', () => {
  it('serve the next run with the same people, until they are reset or broken', async () => {
    const estate = newEstate()
    const first = await startDev(estate, ['--keep'])
    await first.wait('ready')
    const users = await usersOf(first)
    await stop(first)
    expect(dataOf(first)).toBe(join(estate, '.iamctl-dev'))
    expect(readFileSync(join(dataOf(first), '.gitignore'), 'utf8')).toMatch(/^\*$/m)
    expect(readdirSync(dataOf(first))).not.toContain('dev.lock')

    const second = await startDev(estate, ['--keep'])
    await second.wait('ready')
    expect((await second.wait('synced'))['status']).toBe('unchanged')
    expect(await usersOf(second)).toEqual(users)
    expect(passwordOf(second)).toBe(passwordOf(first))
    for (const user of users) await signIn(second.url, 'acme', user['username'], user['password'])
    // One run at a time.
    const third = await startDev(estate, ['--keep'])
    expect(await third.process.exited).toEqual({ code: 1, signal: null })
    expect(third.process.stderr()).toMatch(/\.iamctl-dev is in use by process \d+/)
    expect(existsSync(dataOf(second))).toBe(true)
    await stop(second)

    // Emptied when asked for.
    const anew = await startDev(estate, ['--reset'])
    await anew.wait('ready')
    expect(await anew.wait('synced')).toMatchObject({ realms: [{ createRealm: true }] })
    expect(passwordOf(anew)).not.toBe(passwordOf(first))
    await stop(anew)
    expect(existsSync(join(estate, '.iamctl-dev', 'iamctl.db'))).toBe(true)

    // A server that cannot start on them tells why.
    writeFileSync(join(dataOf(first), 'master.key'), 'not a key')
    const lost = await startDev(estate, ['--keep', '-o', 'human'])
    expect(await lost.process.exited).toEqual({ code: 1, signal: null })
    expect(lost.process.stderr()).toMatch(
      /the server ended by itself \(exit code 1\)\n.*master key/,
    )
  })
})

describe('a port that is taken', () => {
  const occupy = (port: number): Promise<void> =>
    new Promise((resolve) => {
      const server = createServer()
      onTestFinished(() => void server.close())
      // Another process may hold the port, which is then taken.
      server.once('error', () => resolve())
      server.listen(port, '127.0.0.1', resolve)
    })

  it('is an error where it was asked for, and who has it goes by SIGTERM without a trace', async () => {
    const other = await startDev(newEstate())
    await other.wait('ready')
    const dev = await startDev(newEstate(), ['--port', String(other.port)])
    expect(await dev.process.exited).toEqual({ code: 1, signal: null })
    expect(dev.process.stderr()).toContain(`port ${other.port} on 127.0.0.1 is in use`)
    expect(dev.process.stderr()).toContain('--port')
    expect(await isListening(other)).toBe(true)
    await expectGone(other, 'SIGTERM')
  })

  it('is replaced by a free one where nobody asked, and that is told', async () => {
    await occupy(8080)
    const dev = spawnCli(['dev', '-o', 'json'], { cwd: newEstate() })
    onTestFinished(async () => {
      dev.kill('SIGINT')
      await dev.exited
    })
    const [, port] = await dev.waitForLine(/"type":"port-taken","wanted":8080,"port":(\d+)/)
    await dev.waitForLine(new RegExp(`"url":"http://127.0.0.1:${port}"`))
    await dev.waitForLine(/"type":"ready"/)
  })
})

describe('what cannot be run', () => {
  it.each([
    [['dev', '--prot', '1'], 1, '--prot'],
    [['dev', '--port', 'eighty'], 1, '65535'],
    [['dev', '-'], 1, 'standard input cannot be watched'],
  ])('%j is refused before a server is started', async (args, code, words) => {
    const dev = spawnCli(args, { cwd: temporaryFolder() })
    expect(await dev.exited).toEqual({ code, signal: null })
    expect(dev.stderr()).toContain(words)
    expect(dev.stdout()).toBe('')
  })
})
