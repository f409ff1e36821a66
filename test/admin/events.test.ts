/** The audit trail over the admin API: every filter, stable pages, and an event for every write. */

import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { kinds } from '#schemas/registry.ts'
import { categories, eventTypes } from '#schemas/wire/event-types.ts'
import { newId } from '#server/platform/ids.ts'
import {
  type AdminRoute,
  adminRoutes,
  isWrite,
  nameOf,
} from '../security/admin-api/admin-routes.ts'
import { bodyFor, routeVariants } from '../security/admin-api/valid-bodies.ts'
import { createWorld } from '../security/admin-api/world.ts'
import { backends } from '../support/backends.ts'
import { bodyWithReferences, leastBody } from '../support/samples.ts'
import { startServer, type TestServer } from '../support/server.ts'

interface Item {
  readonly id: string
  readonly ts: string
  readonly type: keyof typeof eventTypes
  readonly category: string
  readonly realm: string
  readonly actor: string
  readonly outcome: string
  readonly resourceType: string | null
  readonly resourceId: string | null
  readonly detail: string | null
}

describe.each(backends)('events on $name', (backend) => {
  let server: TestServer
  let now = 1_800_000_000_000
  const base = '/admin/realms/acme'
  const events = `${base}/events`
  beforeAll(async () => {
    server = await startServer(backend, { clock: { now: () => now } })
    await server.createRealm('acme')
    await server.createRealm('busy')
  })
  afterAll(() => server.close())

  const send = (method: string, url: string, body?: unknown) => server.admin.send(method, url, body)
  const get = async (query: string, from = events) => {
    const answer = await send('GET', `${from}?${query}`)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body as {
      items: Item[]
      total: number
      page: number
      size: number
      before: number | null
    }
  }
  /** Puts events of every type, outcome and of three actors on record, a second apart. */
  const record = async (realm: string, count: number): Promise<void> => {
    const types = Object.keys(eventTypes) as (keyof typeof eventTypes)[]
    for (let i = 0; i < count; i += 1) {
      now += 1000
      await server.areas.audit.recorder.append(
        [],
        [
          {
            type: types[i % types.length] ?? 'LOGOUT',
            realm,
            actor: `actor-${i % 3}`,
            sourceIp: '192.0.2.1',
            outcome: i % 2 === 0 ? 'SUCCESS' : 'FAILURE',
            ...(i % 5 === 0 ? { detail: `detail ${i}` } : {}),
          },
        ],
      )
    }
  }
  const busy = '/admin/realms/busy/events'

  describe('that are listed', () => {
    beforeAll(() => record('busy', 120))

    it('come newest first in pages, and fit the schema of the reply', async () => {
      const page = await get('', busy)
      expect(page).toMatchObject({ total: 120, page: 0, size: 50 })
      expect(page.items).toHaveLength(50)
      const action = server.areas.admin.actions.find(({ path }) => path === '/events')
      const check = lazyValidator(createAjv(), action?.reply.schema ?? {})
      expect(check(page)).toEqual([])
      const times = page.items.map(({ ts }) => Date.parse(ts))
      expect(times).toEqual([...times].sort((a, b) => b - a))
      expect(page.items[0]).toMatchObject({
        kind: 'audit',
        realm: 'busy',
        ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        sourceIp: '192.0.2.1',
        resourceType: null,
        resourceId: null,
      })
    })

    it('are as many as asked for, at most 500', async () => {
      expect((await get('size=7', busy)).items).toHaveLength(7)
      expect(await get('size=501', busy)).toMatchObject({ size: 500, total: 120 })
      expect(await get('size=100000', busy)).toMatchObject({ size: 500 })
    })

    it('come page by page, each once, and none after the last', async () => {
      const seen: string[] = []
      const first = await get('size=50', busy)
      for (let page = 0; page < 4; page += 1) {
        const { items, total } = await get(`size=50&page=${page}&before=${first.before}`, busy)
        expect(total).toBe(120)
        seen.push(...items.map(({ id }) => id))
      }
      expect(seen).toHaveLength(120)
      expect(new Set(seen).size).toBe(120)
    })

    it.each([
      ['type', 'LOGIN_FAILURE'],
      ['type', 'ADMIN_DELETE'],
      ['actor', 'actor-1'],
      ['outcome', 'FAILURE'],
      ['outcome', 'SUCCESS'],
      ...categories.map((category) => ['category', category] as const),
    ] as const)('are filtered by %s=%s', async (field, value) => {
      const all = (await get('size=500', busy)).items
      const expected = all.filter((item) => item[field] === value).map(({ id }) => id)
      const found = await get(`size=500&${field}=${value}`, busy)
      expect(expected.length).toBeGreaterThan(0)
      expect(found.items.map(({ id }) => id)).toEqual(expected)
      expect(found.total).toBe(expected.length)
    })

    it('are filtered by all at once, and by time with both ends', async () => {
      const all = (await get('size=500', busy)).items
      const found = await get('size=500&actor=actor-1&outcome=FAILURE&category=AUTHN', busy)
      expect(found.items.map(({ id }) => id)).toEqual(
        all
          .filter(
            ({ actor, outcome, category }) =>
              actor === 'actor-1' && outcome === 'FAILURE' && category === 'AUTHN',
          )
          .map(({ id }) => id),
      )
      const [from, to] = [all[30]?.ts ?? '', all[10]?.ts ?? '']
      const between = await get(`size=500&dateFrom=${from}&dateTo=${to}`, busy)
      expect(between.items.map(({ id }) => id)).toEqual(all.slice(10, 31).map(({ id }) => id))
      const offset = encodeURIComponent(from.replace('Z', '+00:00'))
      expect((await get(`size=500&dateFrom=${offset}`, busy)).total).toBe(31)
    })

    it('are none where nothing fits', async () => {
      expect(await get('actor=nobody', busy)).toEqual({
        items: [],
        total: 0,
        page: 0,
        size: 50,
        before: null,
        next: null,
      })
      expect((await get('dateFrom=2100-01-01T00:00:00Z', busy)).items).toEqual([])
      expect((await get('before=1', busy)).items).toEqual([])
    })

    it.each([
      'type=NO_SUCH_TYPE',
      'type=login_success',
      'type=ADMIN_*',
      'type=LOGOUT&type=LOGIN_SUCCESS',
      'outcome=MAYBE',
      'category=OTHER',
      'page=-1',
      'page=x',
      'size=0',
      'size=-5',
      'size=1.5',
      'before=0',
      'before=x',
      'dateFrom=yesterday',
      'dateFrom=2026-01-01',
      'dateTo=2026-13-01T00:00:00Z',
      'dateTo=2016-12-31T23:59:60Z',
      'sort=asc',
    ])('are 400 for %s, which names its parameter', async (query) => {
      const answer = await send('GET', `${busy}?${query}`)
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation' } })
      expect(answer.body.errors[0].field).toBe(query.split('=')[0])
    })

    it('stand still from page to page while new ones arrive', async () => {
      const first = await get('size=20', busy)
      await record('busy', 30)
      const second = await get(`size=20&page=1&before=${first.before}`, busy)
      const whole = await get(`size=40&before=${first.before}`, busy)
      expect([...first.items, ...second.items]).toEqual(whole.items)
      expect(second.total).toBe(first.total)
      expect((await get('size=1', busy)).total).toBe(first.total + 30)
      const filtered = await get('size=5&actor=actor-2', busy)
      await record('busy', 9)
      const next = await get(`size=5&page=1&actor=actor-2&before=${filtered.before}`, busy)
      const both = await get(`size=10&actor=actor-2&before=${filtered.before}`, busy)
      expect([...filtered.items, ...next.items]).toEqual(both.items)
    })

    it('are read-only: there is no way to write, change or delete one', async () => {
      const { items } = await get('size=1', busy)
      for (const [method, url] of [
        ['POST', busy],
        ['PUT', busy],
        ['DELETE', busy],
        ['PATCH', busy],
      ] as const)
        expect((await send(method, url, {})).status, method).toBe(405)
      for (const method of ['GET', 'PUT', 'DELETE'])
        expect((await send(method, `${busy}/${items[0]?.id}`)).status, method).toBe(404)
    })
  })

  describe('that a write leaves', () => {
    const newest = async (realm = 'acme'): Promise<number> => {
      const row = await server.areas.storage.db
        .selectFrom('audit_events')
        .select((eb) => eb.fn.max('id').as('id'))
        .where('realm', '=', realm)
        .executeTakeFirstOrThrow()
      return Number(row.id)
    }
    const since = (id: number, realm = 'acme') =>
      server.areas.storage.db
        .selectFrom('audit_events')
        .selectAll()
        .where('realm', '=', realm)
        .where('id', '>', id)
        .orderBy('id')
        .execute()

    /** Everything that is stored, but for what follows from it. */
    const rows = async (): Promise<string> => {
      // The next key of a realm is made in the background after a rotation.
      await server.areas.keys.signingKeys.idle()
      const { db, dialect } = server.areas.storage
      const tables =
        dialect.name === 'sqlite'
          ? sql<{ name: string }>`select name from sqlite_schema where type = 'table'`
          : sql<{ name: string }>`select tablename as name from pg_tables
              where schemaname = current_schema()`
      const found: string[] = []
      for (const { name } of (await tables.execute(db)).rows) {
        if (['audit_events', 'personal_keys', 'changes', 'sqlite_sequence'].includes(name)) continue
        const { rows: all } = await sql`select * from ${sql.table(name)}`.execute(db)
        found.push(name, ...all.map((row) => JSON.stringify(row)).sort())
      }
      return found.join('\n')
    }

    it('are there for every route that writes, with who, what and the outcome', async () => {
      const wrong: string[] = []
      const unchanged: string[] = []
      const world = createWorld(server)
      await server.createRealm('doomed')
      const deletes = ({ method }: AdminRoute): number => (method === 'DELETE' ? 1 : 0)
      const depth = ({ path }: AdminRoute): number => path.split('{').length
      // Deletions last, and of what is deeper first: they take away what the others need.
      const routes = (await adminRoutes(server))
        .filter(isWrite)
        .flatMap(routeVariants)
        .sort((a, b) => deletes(a) - deletes(b) || deletes(a) * (depth(b) - depth(a)))
      const addresses = new Map<AdminRoute, string>()
      for (const route of routes)
        addresses.set(route, await world.address(route, route.ofServer ? 'doomed' : 'acme', 'id'))

      /** As the route takes it; a replaced document keeps its key, so that its address stays. */
      const bodyOf = async (route: AdminRoute): Promise<unknown> => {
        const kind = kinds.find((one) => one.kind === route.kind)
        if (!kind || !route.body || kind.shape === 'singleton') return bodyFor(route)
        const body = await bodyWithReferences(kind, async (target) => {
          const made = await send('POST', await world.collection('acme', target), leastBody(target))
          return made.body[target.keyFields[0] ?? '']
        })
        const [field = ''] = kind.keyFields
        const { key } = await world.thing('acme', kind)
        const kept =
          kind.keyFields.length === 1 ? { [field]: key.slice(key.lastIndexOf('/') + 1) } : {}
        return route.operationId.startsWith('replace-')
          ? { ...body, ...kept, description: undefined }
          : body
      }

      for (const route of routes) {
        const realm = route.ofServer ? 'master' : 'acme'
        const body = await bodyOf(route)
        const before = await newest(realm)
        const stored = await rows()
        const answer = await send(route.method, addresses.get(route) ?? '', body)
        const left = await since(before, realm)
        // A directory that is away: its sync is noted as failed, and changes nothing of the realm.
        if ((await rows()) === stored || answer.status === 503) {
          unchanged.push(`${nameOf(route)}: ${answer.status} ${JSON.stringify(answer.body)}`)
          if (left.length > 0) wrong.push(`${nameOf(route)}: ${JSON.stringify(left)}`)
          continue
        }
        const told = left.find(({ category }) => category === 'ADMIN')
        const asItShould =
          left.every(
            ({ outcome, actor }) => outcome === 'SUCCESS' && actor === server.admin.userId,
          ) &&
          /^(ADMIN|AGENT)_/.test(told?.type ?? '') &&
          told !== undefined &&
          (await server.areas.audit.readRecords([told]))[0]?.sourceIp === '127.0.0.1' &&
          told.resource_type !== null &&
          told.resource_id !== null
        if (!asItShould) wrong.push(`${nameOf(route)}: ${answer.status} ${JSON.stringify(left)}`)
      }
      expect(wrong).toEqual([])
      expect(unchanged.length, unchanged.join('\n')).toBeLessThan(routes.length / 2)
    })

    it('name the fields that changed and never their values', async () => {
      const secret = `whsec-${newId()}`
      const hook = { name: 'told', url: 'https://a.example/', eventTypes: '*', secret }
      const { body } = await send('POST', `${base}/webhooks`, hook)
      await send('PUT', `${base}/webhooks/${body.id}`, {
        ...hook,
        name: 'renamed',
        url: 'https://hidden.example/',
        secret: `${secret}2`,
      })
      const [, changed] = (
        await server.areas.storage.db
          .selectFrom('audit_events')
          .selectAll()
          .where('resource_id', '=', body.id)
          .orderBy('id')
          .execute()
      ).map(({ detail }) => detail)
      expect(changed).toContain('renamed from told')
      expect(changed).toContain('/url')
      expect(changed).toContain('/secret')
      expect(changed).not.toContain('hidden')
      expect(changed).not.toContain(secret)
    })

    it('are none where it was refused or changed nothing', async () => {
      const { body } = await send('POST', `${base}/roles`, { name: 'unchanged' })
      const before = await newest()
      await send('PUT', `${base}/roles/unchanged`, body)
      await send('PUT', `${base}/roles/unchanged`, { name: 'a/b' })
      await send('POST', `${base}/roles`, { name: 'unchanged' })
      await send('DELETE', `${base}/roles/user`)
      await send('DELETE', `${base}/roles/nobody`)
      expect(await since(before)).toEqual([])
    })

    it('tell of each document of a list of operations, with the revision', async () => {
      const before = await newest()
      const { revision } = await server.areas.realm.writer.write({
        realm: 'acme',
        channel: { via: 'changeset', origin: 'declared', owner: 'estate' },
        caller: { actor: 'pipeline', sourceIp: '192.0.2.7', permissions: new Set(permissionKeys) },
        operations: ['one', 'two', 'three'].map((username) => ({
          op: 'put' as const,
          kind: User,
          key: username,
          doc: { username },
          secrets: {},
        })),
      })
      expect(await since(before)).toMatchObject(
        Array(3).fill({
          type: 'ADMIN_CREATE',
          actor: 'pipeline',
          source_ip: '192.0.2.7',
          resource_type: 'users',
          revision,
        }),
      )
    })
  })

  it('that a sign-in leaves name the user, or the name that was tried', async () => {
    await send('POST', `${base}/users`, { username: 'signer' })
    const user = (await send('GET', `${base}/users/signer`)).body
    const newPassword = `nobody guesses ${newId()}`
    await send('PUT', `${base}/users/signer/password`, { newPassword })
    const page = await server.app.inject({ method: 'GET', url: '/realms/acme/login' })
    const cookies = Object.fromEntries(page.cookies.map(({ name, value }) => [name, value]))
    const csrf = cookies['XSRF-TOKEN'] ?? ''
    const login = (username: string, password: string) =>
      server.app.inject({
        method: 'POST',
        url: '/realms/acme/login',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        cookies,
        payload: new URLSearchParams({ username, password, _csrf: csrf }).toString(),
      })
    expect((await login('signer', 'wrong')).statusCode).toBe(401)
    expect((await login('nobody-here', 'wrong')).statusCode).toBe(401)
    const done = await login('signer', newPassword)
    expect(done.statusCode).toBe(303)
    const { items } = await get('category=AUTHN&size=3')
    expect(items).toMatchObject([
      { type: 'LOGIN_SUCCESS', outcome: 'SUCCESS', actor: user.userId },
      { type: 'LOGIN_FAILURE', outcome: 'FAILURE', actor: 'nobody-here' },
      { type: 'LOGIN_FAILURE', outcome: 'FAILURE', actor: user.userId },
    ])
    expect(JSON.stringify(items)).not.toContain(newPassword)
  })
})
