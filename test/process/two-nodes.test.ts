/**
 * Two processes on one PostgreSQL, as two servers and as two workers of one: what one of them changes holds at the
 * other from its next request on, and writes through both at the same time lose nothing.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { backends } from '../support/backends.ts'
import { withStorage } from '../support/database/sealed-values.ts'
import { type Browserless, signIn } from '../support/processes/browserless.ts'
import {
  adminPassword,
  newMasterKey,
  type ServerProcess,
  startServerProcess,
} from '../support/processes/server-process.ts'
import type { Answer } from '../support/server.ts'

const [postgres] = backends.filter(({ name }) => name === 'postgres')

/** A client that may ask either node: sessions and tokens are good at both. */
interface Roaming {
  send(node: number, method: string, path: string, body?: unknown, etag?: string): Promise<Answer>
  /** The answers of all processes: each is asked more than once. */
  everywhere(method: string, path: string): Promise<Answer[]>
}

const topologies = [
  { name: 'two servers', nodes: 2, workers: '1' },
  { name: 'one server with two workers', nodes: 1, workers: '2' },
]

describe.runIf(postgres).each(topologies)('$name on one PostgreSQL', ({ nodes, workers }) => {
  let database = { url: '', remove: async (): Promise<void> => {} }
  let servers: ServerProcess[] = []
  let admin: Roaming
  let count = 0

  beforeAll(async () => {
    if (!postgres) return
    database = await postgres.create()
    const installation = {
      args: ['--database-url', database.url, '--workers', workers, '--log-level', 'warn'],
      env: { IAMCTL_MASTER_KEY: newMasterKey(), IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: adminPassword },
    }
    servers = await Promise.all(
      Array.from({ length: nodes }, () => startServerProcess(installation)),
    )
    admin = roaming(await signIn(urlOf(0), 'master', 'admin', adminPassword))
  })
  afterAll(async () => {
    for (const server of servers) await server.stop()
    await database.remove()
  })

  const urlOf = (node: number): string => servers[node % servers.length]?.url ?? ''

  const roaming = (client: Browserless): Roaming => {
    // A connection of its own for each request, so that the workers of one server take turns.
    const ask: Roaming['send'] = (node, method, path, body, etag) =>
      client.send(method, urlOf(node) + path, body, {
        connection: 'close',
        ...(etag === undefined ? {} : { 'if-match': etag }),
      })
    return {
      send: ask,
      everywhere: async (method, path) => {
        const answers: Answer[] = []
        for (const node of [1, 0, 1, 0]) answers.push(await ask(node, method, path))
        return answers
      },
    }
  }

  const newRealm = async (): Promise<{ realm: string; base: string }> => {
    count += 1
    const realm = `realm-${count}`
    expect((await admin.send(0, 'POST', '/admin/realms', { realm })).status).toBe(201)
    return { realm, base: `/admin/realms/${realm}` }
  }

  const made = async (path: string, body: unknown, node = 0) => {
    const answer = await admin.send(node, 'POST', path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return answer
  }

  /** A user with this permission in the realm, signed in at the second node and known to both. */
  const operator = async (realm: string, permissions: readonly string[]) => {
    const base = `/admin/realms/${realm}`
    const role = (await made(`${base}/roles`, { name: 'operators' })).body
    const grants = `${base}/admin-roles/${role.roleId}`
    expect((await admin.send(0, 'PUT', grants, { permissions })).status).toBe(200)
    const user = (await made(`${base}/users`, { username: 'olga' })).body
    const path = `${base}/users/${user.userId}`
    const password = 'seven silent lanterns drift'
    const results = [
      await admin.send(0, 'PUT', `${path}/password`, { newPassword: password }),
      await admin.send(0, 'POST', `${path}/roles`, { name: 'operators' }),
    ]
    expect(results.map(({ status }) => status)).toEqual([204, 204])
    const client = roaming(await signIn(urlOf(1), realm, 'olga', password))
    expect(statuses(await client.everywhere('GET', `${base}/clients`))).toEqual([200])
    return { client, path, grants, role, base }
  }

  const statuses = (answers: readonly Answer[]): number[] => [
    ...new Set(answers.map(({ status }) => status)),
  ]

  it('refuses a permission that was revoked at the other, on the next request', async () => {
    const { realm } = await newRealm()
    const { client, grants, base } = await operator(realm, ['view-clients', 'manage-clients'])
    const fewer = { permissions: ['view-clients'] }
    expect((await admin.send(0, 'PUT', grants, fewer)).status).toBe(200)
    expect((await client.send(1, 'POST', `${base}/clients`, { clientId: 'no' })).status).toBe(403)
    expect((await client.send(1, 'GET', `${base}/clients`)).status).toBe(200)
    expect((await admin.send(0, 'PUT', grants, { permissions: [] })).status).toBe(200)
    expect(statuses(await client.everywhere('GET', `${base}/clients`))).toEqual([403])
  })

  it('refuses a user whose role was taken away at the other, on the next request', async () => {
    const { realm } = await newRealm()
    const { client, path, role, base } = await operator(realm, ['view-clients'])
    const taken = await admin.send(0, 'DELETE', `${path}/roles/${role.roleId}`)
    expect(taken.status).toBe(204)
    expect(statuses(await client.everywhere('GET', `${base}/clients`))).toEqual([403])
  })

  it('refuses the session of a user who was disabled at the other, and of one who is gone', async () => {
    const { realm } = await newRealm()
    const { client, path, base } = await operator(realm, ['view-clients'])
    const change = (enabled: boolean) => admin.send(0, 'PUT', path, { username: 'olga', enabled })
    expect((await change(false)).status).toBe(200)
    expect(statuses(await client.everywhere('GET', `${base}/clients`))).toEqual([401])
    // The session does not come back with the user.
    expect((await change(true)).status).toBe(200)
    expect(statuses(await client.everywhere('GET', `${base}/clients`))).toEqual([401])

    const again = roaming(await signIn(urlOf(0), realm, 'olga', 'seven silent lanterns drift'))
    expect(statuses(await again.everywhere('GET', `${base}/clients`))).toEqual([200])
    expect((await admin.send(1, 'DELETE', path)).status).toBe(204)
    expect(statuses(await again.everywhere('GET', `${base}/clients`))).toEqual([401])
  })

  it('serves what was made, changed, renamed and deleted at the other', async () => {
    const { base } = await newRealm()
    const { body: client } = await made(`${base}/clients`, { clientId: 'web' })
    const path = `${base}/clients/${client.id}`
    const seen = async (field: string): Promise<unknown[]> => [
      ...new Set((await admin.everywhere('GET', path)).map(({ body }) => body[field])),
    ]
    expect(await seen('name')).toEqual([null])
    for (const name of ['first', 'second', 'third']) {
      const changed = await admin.send(0, 'PUT', path, { clientId: 'web', name })
      expect(changed.status).toBe(200)
      expect(await seen('name')).toEqual([name])
    }
    expect((await admin.send(1, 'PUT', path, { clientId: 'site' })).status).toBe(200)
    expect(await seen('clientId')).toEqual(['site'])
    expect(statuses(await admin.everywhere('GET', `${base}/clients/web`))).toEqual([404])
    expect((await admin.send(0, 'DELETE', path)).status).toBe(204)
    expect(statuses(await admin.everywhere('GET', path))).toEqual([404])
  })

  const revisionOf = (realm: string): Promise<number> =>
    withStorage(database.url, async ({ db }) => {
      const row = await db
        .selectFrom('realms')
        .select('revision')
        .where('name', '=', realm)
        .executeTakeFirstOrThrow()
      return row.revision
    })

  it('takes writes to one realm through both at once, and loses none', async () => {
    const { realm, base } = await newRealm()
    const before = await revisionOf(realm)
    const names = Array.from({ length: 100 }, (_, n) => `role-${n}`)
    const answers = await Promise.all(
      names.map((name, n) => admin.send(n % 2, 'POST', `${base}/roles`, { name })),
    )
    expect(statuses(answers)).toEqual([201])
    expect(await revisionOf(realm)).toBe(before + 100)
    for (const { body } of await admin.everywhere('GET', `${base}/roles`))
      expect(body.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(names))
  })

  it('lets exactly one of two changes with one If-Match pass', async () => {
    const { base } = await newRealm()
    const kinds = [
      { path: `${base}/roles`, id: 'roleId', body: { name: 'contested' }, field: 'description' },
      { path: `${base}/users`, id: 'userId', body: { username: 'ursula' }, field: 'firstName' },
    ]
    for (const { path, id, body, field } of kinds) {
      const first = await made(path, body)
      const one = `${path}/${first.body[id]}`
      for (let round = 0; round < 8; round += 1) {
        const { headers } = await admin.send(round % 2, 'GET', one)
        const values = [`left ${round}`, `right ${round}`]
        const answers = await Promise.all(
          values.map((value, node) =>
            admin.send(node, 'PUT', one, { ...body, [field]: value }, String(headers['etag'])),
          ),
        )
        const results = answers.map(({ status }) => status)
        expect(results.toSorted(), `${path} in round ${round}`).toEqual([200, 412])
        const winner = values[results.indexOf(200)]
        for (const { body: now } of await admin.everywhere('GET', one))
          expect(now[field]).toBe(winner)
      }
    }
  })

  it('forgets a realm that was deleted at the other, also when the name is used again', async () => {
    const { realm, base } = await newRealm()
    const { client } = await operator(realm, ['view-clients'])
    const login = `/realms/${realm}/login`
    expect(statuses(await client.everywhere('GET', login))).toEqual([200])
    expect((await admin.send(0, 'DELETE', base)).status).toBe(204)
    expect(statuses(await admin.everywhere('GET', base))).toEqual([404])
    expect(statuses(await admin.everywhere('GET', `${base}/roles`))).toEqual([404])
    expect(statuses(await client.everywhere('GET', login))).toEqual([404])
    expect(statuses(await client.everywhere('GET', `${base}/clients`))).toEqual([401])

    await made('/admin/realms', { realm }, 1)
    const { body: other } = await made(`${base}/roles`, { name: 'operators' }, 1)
    expect(statuses(await client.everywhere('GET', `${base}/clients`))).toEqual([401])
    for (const { body } of await admin.everywhere('GET', `${base}/roles/operators`))
      expect(body.roleId).toBe(other.roleId)
  })

  // Two workers cannot be told apart from outside.
  if (nodes < 2) return
  it('is right from the first request on after it stood still', async () => {
    const { realm, base } = await newRealm()
    const { client, grants } = await operator(realm, ['view-clients'])
    const { realm: second, base: reused } = await newRealm()
    const [, stalled] = servers
    const signal = (name: NodeJS.Signals): void => void stalled?.process.kill(name)
    await admin.send(1, 'GET', `${reused}/roles`)
    signal('SIGSTOP')
    onTestFinished(() => signal('SIGCONT'))
    expect((await admin.send(0, 'PUT', grants, { permissions: [] })).status).toBe(200)
    expect((await admin.send(0, 'DELETE', reused)).status).toBe(204)
    await made('/admin/realms', { realm: second })
    for (const name of ['a', 'b', 'c', 'd']) await made(`${reused}/roles`, { name })
    const expected = (await admin.send(0, 'GET', `${reused}/roles`)).body
    const answers = Promise.all([
      client.send(1, 'GET', `${base}/clients`),
      admin.send(1, 'GET', `${reused}/roles`),
    ])
    signal('SIGCONT')
    const [denied, roles] = await answers
    expect(denied.status).toBe(403)
    expect(roles.body).toEqual(expected)
  })
})
