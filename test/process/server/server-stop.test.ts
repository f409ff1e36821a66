/** Shutdown of a server: requests in progress end, new ones are refused, and no client delays it beyond the limit. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { backends } from '../../support/backends.ts'
import { withStorage } from '../../support/database/sealed-values.ts'
import type { Browserless } from '../../support/processes/browserless.ts'
import { freePort } from '../../support/processes/ports.ts'
import { spawnCli } from '../../support/processes/processes.ts'
import {
  newInstallation,
  newMasterKey,
  type ServerProcess,
  startServerProcess,
  temporaryFolder,
} from '../../support/processes/server-process.ts'

const roles = '/admin/realms/master/roles'

interface HeldRequest {
  readonly socket: Socket
  /** Sends the body, and what is to come after it. */
  readonly finish: (next?: string) => Promise<string>
}

/** A request whose handling has begun and whose body has not arrived: the server says so with 100 Continue. */
const holdRequest = async (server: ServerProcess, admin: Browserless): Promise<HeldRequest> => {
  const body = JSON.stringify({ name: 'held' })
  const socket = connect(server.port, '127.0.0.1').setEncoding('utf8')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  let received = ''
  socket.on('data', (text: string) => {
    received += text
  })
  socket.write(
    [
      `POST ${roles} HTTP/1.1`,
      'host: 127.0.0.1',
      'content-type: application/json',
      `content-length: ${body.length}`,
      `cookie: iam-session-master=${admin.cookie('iam-session-master')}`,
      `x-xsrf-token: ${admin.cookie('XSRF-TOKEN')}`,
      'expect: 100-continue',
      '\r\n',
    ].join('\r\n'),
  )
  while (!received.includes('100 Continue')) await once(socket, 'data')
  const finish: HeldRequest['finish'] = async (next = '') => {
    received = ''
    if (socket.closed) return 'the connection was closed'
    const closed = once(socket, 'close')
    socket.write(body + next)
    await closed
    return received
  }
  return { socket, finish }
}

const untilRefused = async ({ port }: ServerProcess): Promise<void> => {
  for (;;) {
    const probe = connect(port, '127.0.0.1')
    try {
      await once(probe, 'connect')
      probe.destroy()
    } catch {
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** What Ctrl-C in a terminal does: every process of the group gets the signal. */
const interrupt = ({ process: { child } }: ServerProcess): void => {
  process.kill(-(child.pid ?? 0), 'SIGINT')
}

const signals = {
  SIGTERM: ({ process }: ServerProcess) => void process.kill('SIGTERM'),
  'Ctrl-C': interrupt,
}

const cases = backends.flatMap((backend) =>
  Object.keys(signals).flatMap((signal) =>
    (backend.name === 'sqlite' ? ['1'] : ['1', '2']).map((workers) => ({
      backend,
      name: backend.name,
      signal: signal as keyof typeof signals,
      workers,
    })),
  ),
)
// One process behaves alike on both databases: each signal once there, and both with workers.
const chosen = cases.filter(
  ({ name, signal, workers }) => workers === '2' || (name === 'sqlite') === (signal === 'SIGTERM'),
)

describe('a server that is asked to stop', () => {
  it.each(chosen)(
    'by $signal lets a request finish ($name, $workers process)',
    async ({ backend, signal, workers }) => {
      const { args, env, databaseUrl } = await newInstallation(backend)
      const server = await startServerProcess({ args, env }, '--workers', workers)
      const admin = await server.admin()
      const held = await holdRequest(server, admin)
      signals[signal](server)
      await server.process.waitForLine(/"msg":"stopping"/)
      await untilRefused(server)
      const answer = await held.finish('GET /monitoring/info HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
      expect(answer).toMatch(/^HTTP\/1\.1 201 /)
      expect(answer).toContain('"name":"held"')
      // On a connection that is open still the next request is served too.
      const [, next] = answer.split(/(?=HTTP\/1\.1 )/)
      expect(next).toMatch(/^HTTP\/1\.1 200 /)
      expect(next?.toLowerCase()).toContain('connection: close')
      expect(await server.process.exited).toEqual({ code: 0, signal: null })
      expect(server.process.stderr()).not.toMatch(/\n {4}at /)

      await withStorage(databaseUrl, async ({ db }) => {
        const role = db.selectFrom('documents').select('id').where('kind', '=', 'role')
        expect(await role.where('key', '=', 'held').execute()).toHaveLength(1)
      })
    },
  )

  it.each(backends.slice(0, 1))('does not wait for ever for a slow client', async (backend) => {
    const { args, env } = await newInstallation(backend)
    const server = await startServerProcess({ args, env }, '--shutdown-timeout', '1')
    const held = await holdRequest(server, await server.admin())
    const halfHeaders = connect(server.port, '127.0.0.1')
    halfHeaders.on('error', () => {})
    onTestFinished(() => void halfHeaders.destroy())
    halfHeaders.write('GET / HTTP/1.1\r\nhost:')
    expect(await server.stop()).toEqual({ code: 0, signal: null })
    expect(server.output()).toContain('requests did not end in time')
    held.socket.destroy()
  })

  it.each(backends)('a second time does not wait at all ($name)', async (backend) => {
    const { args, env } = await newInstallation(backend)
    const workers = backend.name === 'sqlite' ? '1' : '2'
    const server = await startServerProcess({ args, env }, '--workers', workers)
    await holdRequest(server, await server.admin())
    server.process.kill('SIGTERM')
    await server.process.waitForLine(/"msg":"stopping"/)
    server.process.kill('SIGTERM')
    expect(await server.process.exited).toEqual({ code: 1, signal: null })
    await untilRefused(server)
  })
})

describe('a server with workers', () => {
  const [postgres] = backends.filter(({ name }) => name === 'postgres')

  it.runIf(postgres)(
    'replaces a worker that dies, and its workers end with it however it ends',
    async () => {
      if (!postgres) return
      const { args, env } = await newInstallation(postgres)
      const server = await startServerProcess(
        { args, env },
        '--workers',
        '2',
        '--log-level',
        'debug',
      )
      const admin = await server.admin()
      const pids = new Set<number>()
      const line = /"pid":(\d+),[^\n]*"msg":"request"/g
      const seen = (): Set<number> => {
        for (const [, pid] of server.process.stdout().matchAll(line)) pids.add(Number(pid))
        return pids
      }
      // A connection stays with its worker, so each request has its own.
      const ask = (): Promise<number | undefined> =>
        admin.send('GET', roles, undefined, { connection: 'close' }).then(
          ({ status }) => status,
          () => undefined,
        )
      while (seen().size < 2) expect(await ask()).toBe(200)
      const [doomed = 0] = pids
      process.kill(doomed, 'SIGKILL')
      await server.process.waitForLine(/a worker ended; starting another/)
      while (seen().size < 3) expect([200, undefined]).toContain(await ask())
      server.process.kill('SIGKILL')
      await server.process.exited
      await untilRefused(server)
    },
  )
})

it.each(['1', '2'])('a wait for PostgreSQL ends with SIGTERM, with %s workers', async (workers) => {
  const url = `postgres://iam@127.0.0.1:${await freePort()}/iam`
  const args = ['server', '--database-url', url, '--workers', workers, '--data', temporaryFolder()]
  const waiting = spawnCli(args, { env: { IAMCTL_MASTER_KEY: newMasterKey() } })
  await waiting.waitForLine(/"database":"127.*"reason":.*ECONNREFUSED.*waiting for the database/)
  const begin = performance.now()
  waiting.kill('SIGTERM')
  expect(await waiting.exited).toEqual({ code: 0, signal: null })
  expect(performance.now() - begin).toBeLessThan(10_000)
  expect(waiting.stderr()).toBe('')
})
