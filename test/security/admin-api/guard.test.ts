/** Every registered admin route refuses callers without permission, in the order 401, CSRF, permission. */

import fastify, { type RouteOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  effectivePermissions,
  type Permission,
  permissionKeys,
} from '#schemas/access/permissions.ts'
import { insistOnDescriptions } from '#server/admin/guard.ts'
import { backends } from '../../support/backends.ts'
import { type Answer, type Client, startServer, type TestServer } from '../../support/server.ts'
import { type AdminRoute, addressOf, adminRoutes, isWrite, nameOf, nobody } from './admin-routes.ts'

const eventOf: Readonly<Record<string, string>> = {
  POST: 'ADMIN_CREATE',
  PUT: 'ADMIN_UPDATE',
  PATCH: 'ADMIN_UPDATE',
  DELETE: 'ADMIN_DELETE',
}

/** What is wrong with a refusal; nothing when it is as it should be. */
const faults = (route: AdminRoute, answer: Answer, status: number, code: string): string[] => {
  const told =
    route.method === 'HEAD' ||
    (String(answer.headers['content-type']).startsWith('application/problem+json') &&
      answer.body.code === code &&
      answer.body.status === status)
  return answer.status === status && told
    ? []
    : [`${nameOf(route)}: ${answer.status} ${JSON.stringify(answer.body)}`]
}

/** Whether a holder of these permissions passes the guard; permissions per kind are checked by the handler. */
const letsIn = ({ permission }: AdminRoute, held: ReadonlySet<Permission>): boolean =>
  permission === 'per-kind' ? held.size > 0 : permission !== undefined && held.has(permission)

describe.each(backends)('the guard of the admin API on $name', (backend) => {
  let server: TestServer
  let routes: readonly AdminRoute[]
  /** Without a permission, in the realm of each kind of route. */
  let powerless: Readonly<Record<'acme' | 'master', Client>>
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    await server.createRealm('other')
    routes = await adminRoutes(server)
    powerless = {
      acme: await server.userWith('acme', []),
      master: await server.userWith('master', []),
    }
  })
  afterAll(() => server.close())

  /** HEAD is its GET without a body. */
  const distinct = (): readonly AdminRoute[] => routes.filter(({ method }) => method !== 'HEAD')
  const realmOf = ({ ofServer }: AdminRoute) => (ofServer ? 'master' : 'acme')
  const urlOf = (route: AdminRoute): string => addressOf(route, { realm: 'acme' })
  const writeRoutes = (): readonly AdminRoute[] => routes.filter(isWrite)
  const eventsAfter = (id: number) =>
    server.areas.storage.db
      .selectFrom('audit_events')
      .selectAll()
      .where('id', '>', id)
      .orderBy('id')
      .execute()
  const lastEvent = async (): Promise<number> => {
    const row = await server.areas.storage.db
      .selectFrom('audit_events')
      .select((eb) => eb.fn.max('id').as('id'))
      .executeTakeFirstOrThrow()
    return Number(row.id)
  }
  const without = (client: Client, route: AdminRoute, token?: string): Promise<Answer> =>
    server.anonymous.send(route.method, urlOf(route), undefined, {
      cookie: client.cookie,
      ...(token === undefined ? {} : { 'x-xsrf-token': token }),
    })

  it('has routes to guard, each with a permission, an operationId and a reply schema', () => {
    expect(routes.length).toBeGreaterThan(60)
    for (const route of routes) {
      expect([...permissionKeys, 'per-kind'], nameOf(route)).toContain(route.permission)
      expect(route.operationId, nameOf(route)).toMatch(/^[a-z]+(-[a-z]+)+$/)
      expect(route.resourceType, nameOf(route)).toMatch(/^[a-z-]+$/)
      expect(route.hasReply, nameOf(route)).toBe(true)
    }
    const named = routes.filter(({ method }) => method !== 'HEAD')
    expect(new Set(named.map(({ operationId }) => operationId)).size).toBe(named.length)
  })

  it('answers 401 to who has no session, and stores no event of it', async () => {
    const before = await lastEvent()
    const wrong: string[] = []
    for (const route of routes)
      for (const headers of [
        {},
        {
          cookie: `iam-session-acme=${'A'.repeat(43)}; iam-session-master=${'A'.repeat(43)}`,
          'x-xsrf-token': powerless.acme.csrf,
        },
      ]) {
        const answer = await server.anonymous.send(route.method, urlOf(route), undefined, headers)
        wrong.push(...faults(route, answer, 401, 'unauthenticated'))
        if (answer.headers['www-authenticate'] === undefined)
          wrong.push(`${nameOf(route)}: no challenge`)
        if (answer.headers['set-cookie'] !== undefined) wrong.push(`${nameOf(route)}: a cookie`)
      }
    expect(wrong).toEqual([])
    expect(await eventsAfter(before)).toEqual([])
  })

  it('answers 401 to a session of one realm that is sent under the cookie name of another', async () => {
    const stranger = await server.userWith('other', ['realm-admin'])
    const [, value] = stranger.cookie.split('=')
    const renamed = {
      ...stranger,
      cookie: `iam-session-acme=${value}; iam-session-master=${value}`,
    }
    const wrong: string[] = []
    for (const route of distinct())
      wrong.push(
        ...faults(route, await without(renamed, route, stranger.csrf), 401, 'unauthenticated'),
      )
    expect(wrong).toEqual([])
  })

  // Sessions, tokens and permissions are checked alike on both databases: all routes run on one.
  if (backend === backends[0]) {
    it('answers 401 to an administrator of another realm, and stores no event of it', async () => {
      const stranger = await server.userWith('other', ['realm-admin'])
      const before = await lastEvent()
      const wrong: string[] = []
      for (const route of distinct())
        wrong.push(
          ...faults(route, await stranger.send(route.method, urlOf(route)), 401, 'unauthenticated'),
        )
      expect(wrong).toEqual([])
      expect(await eventsAfter(before)).toEqual([])
    })

    it('answers 403 forbidden to a session without any permission', async () => {
      const wrong: string[] = []
      for (const route of routes)
        wrong.push(
          ...faults(
            route,
            await powerless[realmOf(route)].send(route.method, urlOf(route)),
            403,
            'forbidden',
          ),
        )
      expect(wrong).toEqual([])
    })

    it('records no event of a denied read', async () => {
      const before = await lastEvent()
      for (const route of distinct().filter((one) => !isWrite(one)))
        await powerless[realmOf(route)].send(route.method, urlOf(route))
      expect(await eventsAfter(before)).toEqual([])
    })

    it('answers 404 for a realm that does not exist to a master administrator, 401 to others', async () => {
      const wrong: string[] = []
      for (const route of distinct().filter(({ ofServer }) => !ofServer)) {
        const url = addressOf(route, { realm: 'nowhere' })
        const answer = await server.admin.send(route.method, url)
        if (answer.status !== 404) wrong.push(`${nameOf(route)}: ${answer.status}`)
        const other = await powerless.acme.send(route.method, url)
        if (other.status !== 401) wrong.push(`${nameOf(route)}: ${other.status}`)
      }
      expect(wrong).toEqual([])
    })

    it('answers 403 csrf to a write without the token of the session it came with', async () => {
      const wrong: string[] = []
      for (const realm of ['acme', 'master'] as const) {
        const admin = await server.userWith(realm, ['realm-admin'])
        const { username } = (await server.areas.users.store.find(realm, admin.userId)) ?? {
          username: '',
        }
        const earlier = await server.signedIn(realm, username)
        const all = writeRoutes().filter((one) => realmOf(one) === realm)
        for (const route of all)
          for (const token of [undefined, powerless[realm].csrf])
            wrong.push(...faults(route, await without(admin, route, token), 403, 'csrf'))
        for (const token of ['', earlier.csrf, `${admin.csrf}x`, admin.csrf.toLowerCase(), '*'])
          for (const route of all.slice(0, 1))
            wrong.push(...faults(route, await without(admin, route, token), 403, 'csrf'))
      }
      expect(wrong).toEqual([])
    })

    it('answers 403 csrf before it looks at permissions, at the path or at the body', async () => {
      const wrong: string[] = []
      for (const route of writeRoutes())
        wrong.push(...faults(route, await without(powerless[realmOf(route)], route), 403, 'csrf'))
      expect(wrong).toEqual([])
      const { status } = await server.anonymous.send(
        'POST',
        '/admin/realms/acme/roles',
        'not json',
        {
          cookie: powerless.acme.cookie,
          'content-type': 'text/plain',
        },
      )
      expect(status).toBe(403)
    })
  }

  it('asks for no token to read, and hands the current one out', async () => {
    const admin = await server.userWith('acme', ['realm-admin'])
    const answer = await server.anonymous.send('GET', '/admin/realms/acme/settings', undefined, {
      cookie: admin.cookie,
    })
    expect(answer.status).toBe(200)
    expect([answer.headers['set-cookie']].flat()).toContainEqual(
      expect.stringContaining(`XSRF-TOKEN=${admin.csrf};`),
    )
  })

  // What a permission implies is the same on every database; that it is found there is tried with one.
  const tried = backend === backends[0] ? permissionKeys : permissionKeys.slice(0, 1)

  /** They refuse by what the body asks for: a token for users and groups. */
  const needMore: Readonly<Record<string, readonly number[]>> = { 'create-scim-token': [403] }

  it.each(tried)('lets %s alone use exactly the routes it implies', async (permission) => {
    const held = effectivePermissions([permission])
    const holders = {
      acme: await server.userWith('acme', [permission]),
      master: await server.userWith('master', [permission]),
    }
    const wrong: string[] = []
    for (const route of distinct()) {
      const answer = await holders[realmOf(route)].send(route.method, urlOf(route))
      if (!letsIn(route, held)) wrong.push(...faults(route, answer, 403, 'forbidden'))
      // Nothing has the name in the path and there is no body: past the guard that is the answer, or it needs neither.
      else if (
        ![200, 201, 400, 404, ...(needMore[route.operationId] ?? [])].includes(answer.status)
      )
        wrong.push(`${nameOf(route)}: ${answer.status} ${JSON.stringify(answer.body)}`)
    }
    expect(wrong).toEqual([])
  })

  it('records every denied write as a failure of the one who tried', async () => {
    const wrong: string[] = []
    for (const route of writeRoutes()) {
      const realm = realmOf(route)
      const { userId } = powerless[realm]
      for (const code of ['csrf', 'forbidden']) {
        const before = await lastEvent()
        if (code === 'csrf') await without(powerless[realm], route)
        else await powerless[realm].send(route.method, urlOf(route))
        const [event, ...more] = await eventsAfter(before)
        const asItShould =
          more.length === 0 &&
          event?.realm === realm &&
          event.type === eventOf[route.method] &&
          event.category === 'ADMIN' &&
          event.outcome === 'FAILURE' &&
          event.actor === userId &&
          event.detail === `denied:${code}` &&
          event.resource_id === (route.path.includes(`/${route.resourceType}/{`) ? nobody : null) &&
          event.resource_type === route.resourceType
        if (!asItShould) wrong.push(`${nameOf(route)} ${code}: ${JSON.stringify([event, ...more])}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('records a write that its handler denies, once, with what it was tried on', async () => {
    const helper = await server.userWith('acme', ['manage-users'])
    const boss = await server.userWith('acme', ['realm-admin'])
    const before = await lastEvent()
    const denied = await helper.send('DELETE', `/admin/realms/acme/users/${boss.userId}`)
    expect(denied).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(await eventsAfter(before)).toMatchObject([
      {
        type: 'ADMIN_DELETE',
        realm: 'acme',
        actor: helper.userId,
        outcome: 'FAILURE',
        resource_type: 'users',
        resource_id: boss.userId,
        detail: 'denied:forbidden',
      },
    ])
  })

  it('refuses on the next request what was taken away a moment ago', async () => {
    const url = '/admin/realms/acme/settings'
    const client = await server.userWith('acme', ['manage-realm'])
    expect((await client.send('GET', url)).status).toBe(200)
    const [role] = (
      await server.admin.send('GET', `/admin/realms/acme/users/${client.userId}/roles`)
    ).body
    await server.admin.send('PUT', `/admin/realms/acme/admin-roles/${role.roleId}`, {
      permissions: [],
    })
    expect((await client.send('GET', url)).status).toBe(403)

    for (const change of [{ enabled: false }, { locked: true }]) {
      const other = await server.userWith('acme', ['manage-realm'])
      const one = `/admin/realms/acme/users/${other.userId}`
      expect((await other.send('GET', url)).status).toBe(200)
      const { body } = await server.admin.send('GET', one)
      await server.admin.send('PUT', one, { ...body, ...change })
      expect((await other.send('GET', url)).status, JSON.stringify(change)).toBe(401)
    }

    const deleted = await server.userWith('acme', ['manage-realm'])
    await server.admin.send('DELETE', `/admin/realms/acme/users/${deleted.userId}`)
    expect((await deleted.send('GET', url)).status).toBe(401)
  })
})

describe('a server whose admin route does not describe itself', () => {
  const complete = {
    method: 'GET',
    url: '/admin/realms/:realm/planted',
    schema: { operationId: 'read-planted', response: { 200: { type: 'object' } } },
    config: { permission: 'manage-realm' },
    handler: async () => ({}),
  } as const
  const planted = (route: Partial<RouteOptions>) => () => {
    const app = fastify()
    insistOnDescriptions(app)
    app.route({ ...complete, ...route } as RouteOptions)
  }

  it('starts with a complete one', () => {
    expect(planted({})).not.toThrow()
  })

  it.each([
    ['a permission', { config: {} }],
    ['a permission', { config: { permission: undefined } }],
    ['an operationId', { schema: { response: { 200: { type: 'object' } } } }],
    [
      'an operationId',
      { schema: { operationId: '', response: { 200: { type: 'object' } } } as object },
    ],
    ['a reply schema', { schema: { operationId: 'read-planted' } as object }],
    ['a reply schema', { schema: { operationId: 'read-planted', response: {} } as object }],
    ['a permission, an operationId, a reply schema', { schema: {}, config: {} }],
  ])('does not start: it lacks %s', (lacks, route) => {
    expect(planted(route as Partial<RouteOptions>)).toThrow(
      `the admin route GET /admin/realms/:realm/planted lacks ${lacks}`,
    )
  })
})
