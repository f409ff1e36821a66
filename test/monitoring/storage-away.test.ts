/**
 * An unavailable database: 503 with Retry-After on every endpoint, never 500 and never a hang, readiness down; and
 * recovery without a restart of the server.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operationsIn, readDocument } from '../openapi/document.ts'
import { backends } from '../support/backends.ts'
import { createDatabase, type Postgres, startPostgres } from '../support/processes/postgres.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'
import { type SilentProxy, startSilentProxy } from './silent-proxy.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

const readiness = async (server: TestServer): Promise<number> =>
  (await server.anonymous.send('GET', '/monitoring/health/readiness')).status

const liveness = async (server: TestServer): Promise<number> =>
  (await server.anonymous.send('GET', '/monitoring/health/liveness')).status

const isReady = (server: TestServer) => expect.poll(() => readiness(server)).toBe(200)

const write = ({ admin }: TestServer): Promise<Answer> =>
  admin.send('POST', '/admin/realms/master/roles', { name: `role-${Math.random()}` })

/** Endpoints that cannot answer without the database. */
const doors: Readonly<Record<string, (server: TestServer) => Promise<Answer>>> = {
  'an admin read': ({ admin }) => admin.send('GET', '/admin/realms/master/users'),
  'an admin write': write,
  'the token endpoint': ({ anonymous }) =>
    anonymous.send(
      'POST',
      '/realms/master/token',
      'grant_type=client_credentials&client_id=nobody&client_secret=wrong',
      form,
    ),
  'the sign-in page': ({ anonymous }) =>
    anonymous.send('GET', '/realms/master/login?continue=/account'),
}

const expectAway = ({ status, headers, body }: Answer, door: string): void => {
  expect([door, status, typeof body === 'object' ? (body.error ?? body.code) : '']).toEqual([
    door,
    503,
    door === 'the token endpoint'
      ? 'temporarily_unavailable'
      : door.startsWith('an admin')
        ? 'unavailable'
        : '',
  ])
  expect(headers['retry-after'], door).toMatch(/^\d+$/)
}

const expectAwayEverywhere = async (server: TestServer): Promise<void> => {
  const answers = await Promise.all(
    Object.entries(doors).map(async ([door, open]) => [door, await open(server)] as const),
  )
  for (const [door, answer] of answers) expectAway(answer, door)
  expect(await readiness(server)).toBe(503)
  expect(await liveness(server)).toBe(200)
}

const expectWell = async (server: TestServer): Promise<void> => {
  await isReady(server)
  const { admin } = server
  expect((await admin.send('GET', '/admin/realms/master/users')).status).toBe(200)
  const role = { name: `role-${Math.random()}` }
  expect((await admin.send('POST', '/admin/realms/master/roles', role)).status).toBe(201)
}

const [postgresBackend] = backends.filter(({ name }) => name === 'postgres')

describe.runIf(postgresBackend)('a PostgreSQL that', () => {
  let postgres: Postgres
  let proxy: SilentProxy
  let server: TestServer
  beforeAll(async () => {
    if (!postgresBackend) return
    postgres = await startPostgres()
    proxy = await startSilentProxy(await createDatabase(postgres.url, 'faults'))
    server = await startServer(postgresBackend, { url: proxy.url })
  }, 60_000)
  afterAll(async () => {
    proxy.silence(false)
    await postgres.become('primary')
    await server.close()
    await proxy.close()
    await postgres.stop()
  })

  it('is stopped and started again', async () => {
    await expectWell(server)
    await postgres.become('stopped')
    await expectAwayEverywhere(server)
    await postgres.become('primary')
    await expectWell(server)
  })

  it('starts up or recovers, and takes no connections (57P03)', async () => {
    await postgres.become('recovering')
    await expectAwayEverywhere(server)
    await postgres.become('primary')
    await expectWell(server)
  })

  it('has become a standby takes no writes (25006), and the server is not ready', async () => {
    await postgres.become('standby')
    expectAway(await write(server), 'an admin write')
    expect(await readiness(server)).toBe(503)
    expect(await liveness(server)).toBe(200)
    await postgres.become('primary')
    await expectWell(server)
  })

  it('falls silent without refusing anything', async () => {
    proxy.silence(true)
    await expectAwayEverywhere(server)
    proxy.silence(false)
    await expectWell(server)
  })

  it('is away answers no route with 500', async () => {
    const operations = operationsIn(await readDocument(server))
    await postgres.become('stopped')
    const answers: unknown[] = []
    for (const { method, path } of operations) {
      const address = path.replace(/\{(\w+)\}/g, (_, name) => (name === 'realm' ? 'master' : 'x'))
      const client = path.startsWith('/admin/') ? server.admin : server.anonymous
      const body = path.startsWith('/admin/') ? {} : 'client_id=nobody'
      const headers = path.startsWith('/admin/') ? {} : form
      const { status, headers: got } = await client.send(
        method,
        address,
        ['GET', 'HEAD'].includes(method) ? undefined : body,
        ['GET', 'HEAD'].includes(method) ? {} : headers,
      )
      if (status === 500 || (status === 503 && got['retry-after'] === undefined))
        answers.push([method, path, status])
    }
    await postgres.become('primary')
    expect(answers.filter((answer) => !String(answer).includes('/monitoring/'))).toEqual([])
    await expectWell(server)
  })
})

const [sqliteBackend] = backends.filter(({ name }) => name === 'sqlite')

describe.runIf(sqliteBackend)('a SQLite file whose disk is full', () => {
  let server: TestServer
  beforeAll(async () => {
    if (sqliteBackend) server = await startServer(sqliteBackend)
  })
  afterAll(() => server.close())

  /** The write connection may not make the file any larger: SQLITE_FULL, as from a full disk. */
  const limitPages = (pages: number) =>
    server.areas.storage.commit([{ sql: `pragma max_page_count = ${pages}`, parameters: [] }])

  const fill = async (): Promise<Answer> => {
    for (;;) {
      const name = `role-${Math.random()}`
      const body = { name, description: 'x'.repeat(250) }
      const answer = await server.admin.send('POST', '/admin/realms/master/roles', body)
      if (answer.status !== 201) return answer
    }
  }

  it('answers writes with 503, reads go on, readiness is down, and it heals by itself', async () => {
    await expectWell(server)
    await limitPages(1)
    expectAway(await fill(), 'an admin write')
    expect(await readiness(server)).toBe(503)
    expect(await liveness(server)).toBe(200)
    expect((await server.admin.send('GET', '/admin/realms/master/users')).status).toBe(200)
    await limitPages(1_073_741_823)
    await expectWell(server)
  })
})
