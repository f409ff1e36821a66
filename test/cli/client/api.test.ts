/** Calls of the API as they are sent. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createApi } from '#cli/client/api.ts'
import { createHttp } from '#cli/client/http/http.ts'
import { findKind } from '#cli/client/kind-names.ts'
import { createSession } from '#cli/client/session.ts'
import type { ChangesetRequest } from '#schemas/wire/wire.ts'

interface Sent {
  readonly line: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

type Answer = readonly [status: number, body: unknown, headers?: Record<string, string>]

const apiOf = async (answers: (sent: Sent, count: number) => Answer) => {
  const sent: Sent[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const one = { line: `${request.method} ${request.url}`, headers: request.headers, body }
    sent.push(one)
    const [status, value, headers = {}] = answers(one, sent.length)
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(value))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const http = createHttp({
    server: `http://127.0.0.1:${port}`,
    timeoutMs: 5000,
    slowTimeoutMs: 5000,
  })
  onTestFinished(http.close)
  return { sent, api: createApi(http, createSession(http, { by: 'token', token: 'sesame' })) }
}

const changeset = (count: number, more: Partial<ChangesetRequest> = {}): ChangesetRequest => ({
  baseRevision: 1,
  source: 'shop',
  operations: Array.from({ length: count }, (_, i) => ({
    op: 'delete',
    kind: 'role',
    key: `r${i}`,
  })),
  ...more,
})

describe('a changeset', () => {
  it('is one JSON object, with a key under which it may be repeated', async () => {
    const { api, sent } = await apiOf((_, count) =>
      count === 1 ? [503, {}, { 'retry-after': '0' }] : [200, { revision: 2 }],
    )
    const reply = await api.changeset('acme', changeset(2))
    expect(reply.revision).toBe(2)
    const [first, second] = sent
    expect(first?.line).toBe('POST /admin/realms/acme/changesets')
    expect(JSON.parse(first?.body ?? '')).toEqual(changeset(2))
    expect(first?.headers['authorization']).toBe('Bearer sesame')
    expect(first?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/)
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key'])
    expect(second?.body).toBe(first?.body)
    expect(api.requests()).toBe(2)
  })

  it('takes the key that it is given, and none for a dry run', async () => {
    const { api, sent } = await apiOf(() => [200, {}])
    await api.changeset('acme', changeset(1), { idempotencyKey: 'mine' })
    await api.changeset('acme', changeset(1, { dryRun: true }))
    expect(sent.map(({ headers }) => headers['idempotency-key'])).toEqual(['mine', undefined])
  })

  it('of many operations is lines: the head, then one operation each', async () => {
    const { api, sent } = await apiOf(() => [200, {}])
    const request = changeset(1000, { message: 'large' })
    await api.changeset('acme', request)
    const [only] = sent
    expect(only?.headers['content-type']).toBe('application/x-ndjson')
    const [head, ...operations] = (only?.body ?? '')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const { operations: wanted, ...rest } = request
    expect(head).toEqual(rest)
    expect(operations).toEqual(wanted)
  })
})

describe('the other calls about realms', () => {
  it('a realm that does not exist compares to null', async () => {
    const { api } = await apiOf(() => [404, { code: 'not-found', detail: 'there is no realm' }])
    expect(await api.compare('acme', { source: 'shop', sectionHashes: {} })).toBeNull()
    await expect(api.exportRealm('acme', {})).rejects.toMatchObject({ status: 404 })
  })

  it('say in the query what they want', async () => {
    const { api, sent } = await apiOf(() => [200, []])
    await api.exportRealm('acme', { builtIns: true, sections: ['clients', 'roles'] })
    await api.revisions('acme', { before: 7, max: 5 })
    await api.revision('acme', 7)
    await api.rollback('acme', 3, { dryRun: true })
    await api.importRealm('acme', { realm: 'acme' }, { dryRun: true })
    expect(sent.map(({ line }) => line)).toEqual([
      'GET /admin/realms/acme/export?builtIns=true&sections=clients%2Croles',
      'GET /admin/realms/acme/revisions?before=7&max=5',
      'GET /admin/realms/acme/revisions/7',
      'POST /admin/realms/acme/revisions/3/rollback',
      'POST /admin/realms/acme/import?dryRun=true',
    ])
  })
})

describe('lists', () => {
  it('of users are read page by page, up to the limit', async () => {
    const users = Array.from({ length: 2500 }, (_, i) => ({ username: `u${i}` }))
    const { api, sent } = await apiOf(({ line }) => {
      const query = new URL(line.split(' ')[1] ?? '', 'http://x').searchParams
      const first = Number(query.get('first'))
      const page = users.slice(first, first + Number(query.get('max')))
      return [200, page, { 'x-total-count': String(users.length) }]
    })
    const all = await api.users.search('acme')
    expect([all.users.length, all.total, sent.length]).toEqual([2500, 2500, 3])
    expect((await api.users.search('acme', { limit: 1200 })).users).toHaveLength(1200)
  })

  it('of a tree have the paths as keys, and of children those below their parents', async () => {
    const { api } = await apiOf(({ line }) => {
      if (line.endsWith('/groups'))
        return [
          200,
          [
            { groupId: 'b', name: 'Helpdesk', parentId: 'a' },
            { groupId: 'a', name: 'Staff', parentId: null },
          ],
        ]
      if (line.endsWith('/clients')) return [200, [{ clientId: 'web' }, { clientId: 'api' }]]
      return [200, [{ name: 'reader' }]]
    })
    const keys = async (word: string): Promise<string[]> =>
      (await api.documents.list('acme', findKind(word))).map(({ key }) => key)
    expect(await keys('groups')).toEqual(['/Staff/Helpdesk', '/Staff'])
    expect(await keys('client-roles')).toEqual(['web/reader', 'api/reader'])
  })

  it('of a user who changes meanwhile are read again before the lock', async () => {
    const { api, sent } = await apiOf(({ line }, count) => {
      if (line.startsWith('GET'))
        return [200, { locked: false, username: 'a' }, { etag: `"${count}"` }]
      return count < 4 ? [412, { code: 'precondition-failed' }] : [200, {}]
    })
    expect(await api.users.setLocked('acme', 'a', true)).toBe(true)
    expect(sent.map(({ headers }) => headers['if-match'])).toEqual([
      undefined,
      '"1"',
      undefined,
      '"3"',
    ])
  })
})
