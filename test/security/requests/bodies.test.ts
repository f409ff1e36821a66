/** Request bodies: the fields of the route and no others, strict JSON, bounded size. */

import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { kindNamed } from '#schemas/registry.ts'
import { backends } from '../../support/backends.ts'
import { leastBody } from '../../support/samples.ts'
import { type Answer, startServer, type TestServer } from '../../support/server.ts'
import {
  type AdminRoute,
  adminRoutes,
  isWrite,
  nameOf,
  takesNothing,
} from '../admin-api/admin-routes.ts'
import { routeVariants, takenBy } from '../admin-api/valid-bodies.ts'
import { createWorld, type World } from '../admin-api/world.ts'

/** Fields that tables, documents or other routes have, and that no body may set beside those of its route. */
const coveted = [
  'id',
  '_id',
  'realmId',
  'realm',
  'userId',
  'roleId',
  'groupId',
  'groups',
  'roles',
  'roleNames',
  'clientRoles',
  'permissions',
  'serviceAccountRoles',
  'createdAt',
  'created_at',
  'updatedAt',
  'secretSet',
  'secrets',
  'sealed',
  'passwordHash',
  'password',
  'initialPassword',
  'credentials',
  'mfaEnabled',
  'managed',
  'origin',
  'owner',
  'version',
  'revision',
  'hash',
  'key',
  'kind',
  'body',
  'builtIn',
  'default',
  'memberCount',
  'isAdmin',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '$ref',
  '',
]

/** What a form of another site can send without asking first. */
const forms = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']
const others = [
  'text/plain; charset=application/json',
  'application/xml',
  'application/jsonp',
  'application/json-patch+json',
  'garbage',
]

describe.each(backends)('bodies on $name', (backend) => {
  let server: TestServer
  let world: World
  let taking: AdminRoute[]
  const base = '/admin/realms/acme'

  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    world = createWorld(server)
    taking = (await adminRoutes(server))
      .flatMap(routeVariants)
      .filter((route) => takenBy(route) !== undefined)
  })
  afterAll(() => server.close())

  const addressOf = (route: AdminRoute): Promise<string> => world.address(route, 'acme', 'id')
  const raw = (route: AdminRoute, url: string, body: string | Buffer, type = 'application/json') =>
    server.admin.send(route.method, url, body, { 'content-type': type })
  const rolePost = (body: string | Buffer, headers: Record<string, string> = {}) =>
    server.admin.send('POST', `${base}/roles`, body, {
      'content-type': 'application/json',
      ...headers,
    })
  /** Everything a write could have changed. */
  const state = async (): Promise<string> => {
    const { db } = server.areas.storage
    return JSON.stringify([
      await db.selectFrom('documents').select(['id', 'version', 'body']).orderBy('id').execute(),
      await db.selectFrom('users').selectAll().orderBy('id').execute(),
      await db.selectFrom('credentials').select(['id', 'secret']).orderBy('id').execute(),
      await db.selectFrom('user_roles').selectAll().orderBy('user_id').orderBy('role_id').execute(),
      await db.selectFrom('realms').selectAll().orderBy('name').execute(),
    ])
  }
  const refused = (answer: Answer, status: number): boolean =>
    answer.status === status && answer.body.status === status

  // What is refused before the database is asked is refused alike on both.
  if (backend === backends[0]) {
    it('assign no field that is not of their route, and change none that is read-only', async () => {
      for (const route of taking) await addressOf(route)
      const before = await state()
      const wrong: string[] = []
      for (const route of taking) {
        const { fields, readOnly } = takenBy(route) ?? { fields: {}, readOnly: [] }
        const url = await addressOf(route)
        // A refusal names all fields of one sort: what it does not name yet is sent again without the others.
        let left = [...new Set([...coveted, ...readOnly])].filter(
          (name) => !Object.hasOwn(fields, name),
        )
        while (left.length > 0) {
          const body = {
            ...takenBy(route)?.body,
            ...Object.fromEntries(left.map((one) => [one, 'x'])),
          }
          const answer = await server.admin.send(route.method, url, body)
          const named = new Set(answer.body.errors?.map(({ field }: { field: string }) => field))
          const rest = left.filter((name) => !named.has(`/${name}`))
          if (!refused(answer, 400) || rest.length === left.length) {
            wrong.push(`${nameOf(route)} ${rest}: ${answer.status} ${JSON.stringify(answer.body)}`)
            break
          }
          left = rest
        }
      }
      expect(wrong).toEqual([])
      expect(await state()).toBe(before)
    })

    it('are objects: anything else is 400 on every route', async () => {
      const before = await state()
      const wrong: string[] = []
      for (const route of taking) {
        const url = await addressOf(route)
        // Without a body: test/admin/no-body.test.ts.
        const empty = takesNothing(route) ? [] : ['']
        for (const body of ['null', '[{}]', '"text"', ...empty]) {
          const answer = await raw(route, url, body)
          if (!refused(answer, 400)) wrong.push(`${nameOf(route)} ${body}: ${answer.status}`)
        }
      }
      expect(wrong).toEqual([])
      expect(await state()).toBe(before)
    })

    it('are JSON by their media type: anything else is 415 on every route', async () => {
      const before = await state()
      const wrong: string[] = []
      for (const route of taking) {
        const url = await addressOf(route)
        const body = JSON.stringify(takenBy(route)?.body)
        const all = route === taking[0] ? [...forms, ...others] : forms
        for (const type of all) {
          const answer = await raw(route, url, body, type)
          if (!refused(answer, 415)) wrong.push(`${nameOf(route)} ${type}: ${answer.status}`)
        }
      }
      const packed = await rolePost(gzipSync('{"name":"packed"}'), { 'content-encoding': 'gzip' })
      expect(packed.status).toBe(415)
      expect(wrong).toEqual([])
      expect(await state()).toBe(before)
    })

    it('are at most 1 MiB: a larger one is 413 on every route that does not say otherwise', async () => {
      const wrong: string[] = []
      const filler = 'x'.repeat(1024 * 1024)
      for (const route of taking.filter(({ bodyLimit }) => bodyLimit === undefined)) {
        const body = JSON.stringify({ ...takenBy(route)?.body, filler })
        const answer = await raw(route, await addressOf(route), body)
        if (!refused(answer, 413)) wrong.push(`${nameOf(route)}: ${answer.status}`)
      }
      expect(wrong).toEqual([])
    })

    it.each([
      ['{"name":"a",}', 1, 13],
      ['{"name":"a"\n,"description"}', 2, 15],
      ['{"name":"a"} x', 1, 14],
      ["{'name':'a'}", 1, 2],
      ['{"name":NaN}', 1, 9],
      ['{"name":"a", // b\n}', 1, 14],
      ['{"name":"a","name":"b"}', 1, 13],
      ['{"name":"a","n\\u0061me":"b"}', 1, 13],
      ['{"name":"a","attributes":{"x":["1"],"x":["2"]}}', 1, 37],
      ['{"__proto__":{"permissions":["realm-admin"]},"name":"a"}', 1, 2],
      ['{"name":"a","attributes":{"__proto__":["x"]}}', 1, 27],
      ['{"name":"a","\\u005f_proto__":{"composites":["admin"]}}', 1, 13],
      [`{"name":${'['.repeat(100)}`, 1, 72],
    ])('are read strictly, and a refusal tells the place: %s', async (text, line, column) => {
      const answer = await rolePost(text)
      expect(answer).toMatchObject({ status: 400, body: { code: 'bad-request', line, column } })
      expect(answer.headers['content-type']).toContain('application/problem+json')
    })

    it('that would exhaust a parser are refused and do no harm', async () => {
      for (const text of [
        '['.repeat(500_000),
        '{"a":'.repeat(150_000),
        `"${'\\u0061'.repeat(99_999)}`,
      ])
        expect((await rolePost(text)).status).toBe(400)
      const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`field-${i}`, 1]))
      expect((await rolePost(JSON.stringify({ name: 'many', ...many }))).status).toBe(400)
      expect((await server.admin.send('GET', `${base}/roles/user`)).status).toBe(200)
    })

    it('are UTF-8', async () => {
      const bytes = Buffer.concat([
        Buffer.from('{"name":"'),
        Buffer.from([0xc3, 0x28]),
        Buffer.from('"}'),
      ])
      expect(await rolePost(bytes)).toMatchObject({ status: 400, body: { code: 'bad-request' } })
      const utf16 = Buffer.from('{"name":"a"}', 'utf16le')
      expect((await rolePost(utf16)).status).toBe(400)
    })

    it('of a write that takes none are ignored', async () => {
      const routes = (await adminRoutes(server)).filter(
        (route) => isWrite(route) && route.body === undefined,
      )
      expect(routes.length).toBeGreaterThan(5)
      const { body } = await server.admin.send(
        'POST',
        `${base}/roles`,
        leastBody(kindNamed('role')),
      )
      const deleted = await server.admin.send('DELETE', `${base}/roles/${body.roleId}`, {
        id: 'user',
      })
      expect(deleted.status).toBe(204)
      expect((await server.admin.send('GET', `${base}/roles/user`)).status).toBe(200)
    })
  }

  it('pollute no prototype, and free-form values keep whatever names they have', async () => {
    const names = [
      'constructor',
      'prototype',
      'toString',
      'valueOf',
      'hasOwnProperty',
      'length',
      '',
    ]
    const attributes = Object.fromEntries(names.map((name) => [name, [`of ${name}`]]))
    const made = await server.admin.send('POST', `${base}/roles`, { name: 'free-form', attributes })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const read = await server.admin.send('GET', `${base}/roles/free-form`)
    expect(read.body.attributes).toEqual(attributes)
    const user = await server.admin.send('POST', `${base}/users`, { username: 'free', attributes })
    expect(user.status, JSON.stringify(user.body)).toBe(201)
    expect((await server.admin.send('GET', `${base}/users/free`)).body.attributes).toEqual(
      attributes,
    )
    const polluting =
      '{"name":"polluter","attributes":{"constructor":{"prototype":{"polluted":1}}}}'
    expect((await rolePost(polluting)).status).toBe(400)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  it('whose change needs more words than an event has are told up to a whole character', async () => {
    // Of one field less, or with it, the end of the words is in the middle of a character.
    for (const first of ['a', 'ab']) {
      const name = `long-${first}`
      await server.admin.send('POST', `${base}/roles`, { name })
      const attributes = { [first]: ['x'], ['\u{1f600}'.repeat(600)]: ['x'] }
      const answer = await server.admin.send('PUT', `${base}/roles/${name}`, { name, attributes })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }
  })

  it('of which a part is shown are stored, and shown up to a whole character', async () => {
    const user = await server.admin.send('POST', `${base}/users`, { username: 'pushed' })
    const token = await server.admin.send('POST', `${base}/messaging/push-tokens`, {
      userId: user.body.userId,
      deviceId: 'phone',
      platform: 'ios',
      driver: 'apns',
      token: 'token-of-a-phone-\u{1f600}abc',
    })
    expect(token).toMatchObject({ status: 201, body: { tokenMasked: '…abc' } })
  })

  it('never lead to a failure of the server, whatever a field holds', async () => {
    const junk: Readonly<Record<string, readonly unknown[]>> = {
      string: ['\u0000', '\ud800', 'x'.repeat(5_000), { toString: 1 }],
      array: [['\u0000'], ['\ud800'], [null]],
      integer: [1e21],
      object: [{ toString: 1 }, { '\u0000': ['\ud800'] }],
    }
    const ids = new Set(taking.map(({ operationId }) => operationId))
    // Replacing checks a body as making does.
    const distinct = taking.filter(
      ({ operationId }) =>
        !ids.has(operationId.replace(/^replace-(.*?)(-by-key)?$/, 'create-$1')) ||
        !operationId.startsWith('replace-'),
    )
    const wrong: string[] = []
    for (const route of distinct) {
      const url = await addressOf(route)
      const fields = Object.entries(takenBy(route)?.fields ?? {})
      const send = async (given: Record<string, unknown>) => {
        const body = { ...takenBy(route)?.body, ...given }
        const answer = await server.admin.send(route.method, url, body)
        const isStored = answer.status < 400 && /\\u0000|\\ud800/.test(JSON.stringify(given))
        if (answer.status >= 500 || isStored)
          wrong.push(`${nameOf(route)} ${JSON.stringify(given).slice(0, 80)}: ${answer.status}`)
        return new Set(
          answer.body.errors?.map(({ field }: { field: string }) => field.split('/')[1]),
        )
      }
      for (let i = 0; i < 4; i += 1) {
        const given = Object.fromEntries(
          fields.flatMap(([name, { type }]) => {
            const values = junk[[type].flat().find((one) => one !== 'null') ?? ''] ?? []
            return i < values.length ? [[name, values[i]]] : []
          }),
        )
        // What the schema refuses goes no further; the rest is tried one by one.
        const named = await send(given)
        for (const [name, value] of Object.entries(given))
          if (!named.has(name)) await send({ [name]: value })
      }
    }
    expect(wrong).toEqual([])
  })
})
