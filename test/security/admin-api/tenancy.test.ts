/** Data of one realm cannot be reached through any route of another realm. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { kindNamed } from '#schemas/registry.ts'
import { backends } from '../../support/backends.ts'
import { leastBody } from '../../support/samples.ts'
import { type Client, startServer, type TestServer } from '../../support/server.ts'
import { type AdminRoute, addressOf, adminRoutes, nameOf, parametersOf } from './admin-routes.ts'
import { bodyFor } from './valid-bodies.ts'
import { createWorld, routedKinds, type Thing, type World } from './world.ts'

describe.each(backends)('realms on $name', (backend) => {
  let server: TestServer
  let routes: readonly AdminRoute[]
  let world: World

  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    await server.createRealm('other')
    await server.createRealm('twin')
    routes = await adminRoutes(server)
    world = createWorld(server)
    for (const kind of routedKinds) await world.thing('acme', kind)
    await world.user('acme')
  })
  afterAll(() => server.close())

  const everythingOf = async (realm: string): Promise<string> => {
    const { db } = server.areas.storage
    const users = db.selectFrom('users').select('id').where('realm', '=', realm)
    return JSON.stringify([
      await db
        .selectFrom('documents')
        .selectAll()
        .where('realm', '=', realm)
        .orderBy('id')
        .execute(),
      await db.selectFrom('users').selectAll().where('realm', '=', realm).orderBy('id').execute(),
      await db.selectFrom('credentials').selectAll().where('realm', '=', realm).execute(),
      await db.selectFrom('user_roles').selectAll().where('user_id', 'in', users).execute(),
    ])
  }
  /** Revisions are counted in every realm, and all have the same channels: they name nothing of another one. */
  const ofRealms = ['realm', 'name', 'revision', 'channel']
  const reaching = (): readonly AdminRoute[] =>
    routes.filter((route) => parametersOf(route).some((name) => !ofRealms.includes(name)))

  /** Every route with a parameter, with things of acme, under other. */
  const strangers = async (client: Client, part: keyof Thing): Promise<string[]> => {
    const wrong: string[] = []
    for (const route of reaching()) {
      const address = await world.address(route, 'acme', part, 'other')
      const answer = await client.send(route.method, address, bodyFor(route))
      if (answer.status !== 404) wrong.push(`${nameOf(route)} by ${part}: ${answer.status}`)
    }
    return wrong
  }

  it.each(['id', 'key'] as const)(
    'answer 404 to the %s of another realm on every route with a parameter',
    async (part) => {
      // What the addresses name is made when it is first asked for.
      for (const route of reaching()) await world.address(route, 'acme', part, 'other')
      const before = await everythingOf('acme')
      expect(reaching().length).toBeGreaterThan(30)
      expect(await strangers(server.admin, part)).toEqual([])
      expect(await strangers(await server.userWith('other', ['realm-admin']), part)).toEqual([])
      expect(await everythingOf('acme')).toBe(before)
    },
  )

  it('answer 404 to the id of another realm also where they have one with the same key', async () => {
    const before = await everythingOf('acme')
    const wrong: string[] = []
    for (const kind of routedKinds.filter(({ idField }) => idField !== null)) {
      const acme = await world.thing('acme', kind)
      const twin = await world.thing('twin', kind)
      expect(twin.key).toBe(acme.key)
      const address = await world.collection('twin', kind)
      for (const method of ['GET', 'PUT', 'DELETE']) {
        // Read first, so that both are in the in-memory copy.
        await server.admin.send('GET', `${await world.collection('acme', kind)}/${acme.id}`)
        await server.admin.send('GET', `${address}/${twin.id}`)
        const body = method === 'PUT' ? leastBody(kind) : undefined
        const { status } = await server.admin.send(method, `${address}/${acme.id}`, body)
        if (status !== 404) wrong.push(`${method} ${kind.kind}: ${status}`)
      }
    }
    expect(wrong).toEqual([])
    expect(await everythingOf('acme')).toBe(before)
  })

  it('answer 404 to a child below another parent of the same realm', async () => {
    const wrong: string[] = []
    for (const kind of routedKinds.filter(({ shape }) => shape === 'child')) {
      const parent = await server.admin.send(
        'POST',
        `/admin/realms/acme${kindNamed(kind.parentKind ?? '').path}`,
        leastBody(kindNamed(kind.parentKind ?? '')),
      )
      const base = `/admin/realms/acme${kind.path?.replace(/\{[a-z-]+\}/, parent.body.id)}`
      const child = await world.thing('acme', kind)
      for (const name of [child.id, child.key])
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const body = method === 'PUT' ? leastBody(kind) : undefined
          const { status } = await server.admin.send(method, `${base}/${name}`, body)
          if (status !== 404) wrong.push(`${method} ${kind.kind} ${name}: ${status}`)
        }
    }
    expect(wrong).toEqual([])
  })

  it('take no reference to a document of another realm, by key or by id', async () => {
    const role = await server.admin.send('POST', '/admin/realms/acme/roles', { name: 'acme-role' })
    const group = await world.thing('acme', kindNamed('group'))
    const base = '/admin/realms/other'
    const user = await server.userWith('other', [])
    for (const name of ['acme-role', role.body.roleId]) {
      const composite = await server.admin.send('POST', `${base}/roles`, {
        name: 'greedy',
        composites: [name],
      })
      expect(composite).toMatchObject({ status: 400, body: { errors: [{ field: '/composites' }] } })
      const { body } = await server.admin.send('GET', `${base}/settings`)
      const settings = await server.admin.send('PUT', `${base}/settings`, {
        ...body,
        defaultRole: name,
      })
      expect(settings).toMatchObject({ status: 400, body: { errors: [{ field: '/defaultRole' }] } })
      const assigned = await server.admin.send('POST', `${base}/users/${user.userId}/roles`, {
        name,
      })
      expect(assigned.status).toBe(404)
    }
    const below = await server.admin.send('POST', `${base}/groups`, {
      name: 'below',
      parentId: group.id,
    })
    expect(below).toMatchObject({ status: 400, body: { errors: [{ field: '/parentId' }] } })
  })

  it('list nothing of another realm', async () => {
    const seen = new Set(
      (await server.areas.storage.db.selectFrom('documents').select(['id', 'realm']).execute())
        .filter(({ realm }) => realm !== 'other')
        .map(({ id }) => id),
    )
    const user = (await world.user('acme')).id
    // A stream has no end to wait for; what it brings is tested in test/audit/audit-stream.test.ts.
    for (const route of routes.filter(
      (one) =>
        one.method === 'GET' &&
        parametersOf(one).join() === 'realm' &&
        one.operationId !== 'stream-events',
    )) {
      const { status, body } = await server.admin.send('GET', addressOf(route, { realm: 'other' }))
      expect(status, nameOf(route)).toBe(200)
      const text = JSON.stringify(body)
      expect(
        [...seen, user].filter((id) => text.includes(id)),
        nameOf(route),
      ).toEqual([])
    }
    const events = await server.admin.send('GET', '/admin/realms/other/events?size=500')
    expect(events.body.items.length).toBeGreaterThan(0)
    for (const { realm } of events.body.items) expect(realm).toBe('other')
  })

  it('are all administered by a realm-admin of master, by no other user of master, and by no neighbour', async () => {
    const url = '/admin/realms/acme/roles'
    expect((await server.admin.send('POST', url, { name: 'by-master' })).status).toBe(201)
    const realmAdmin = await server.userWith('master', ['realm-admin'])
    expect((await realmAdmin.send('POST', url, { name: 'by-another' })).status).toBe(201)
    for (const permission of [
      'manage-roles',
      'manage-users',
      'view-users',
      'manage-realm',
    ] as const) {
      const limited = await server.userWith('master', [permission])
      expect((await limited.send('GET', url)).status, permission).toBe(403)
      expect((await limited.send('POST', url, { name: 'by-limited' })).status).toBe(403)
    }
    const neighbour = await server.userWith('other', ['realm-admin'])
    expect((await neighbour.send('GET', url)).status).toBe(401)
    expect((await neighbour.send('POST', url, { name: 'by-neighbour' })).status).toBe(401)
    expect((await neighbour.send('GET', '/admin/realms')).status).toBe(401)
    expect((await neighbour.send('GET', '/admin/realms/master/roles')).status).toBe(401)
  })

  it("use the realm's own session before the one of master where a browser has both", async () => {
    const own = await server.userWith('acme', ['view-users'])
    const both = `${own.cookie}; ${server.admin.cookie}`
    const sent = (url: string, csrf: string, method = 'GET') =>
      server.anonymous.send(method, url, undefined, { cookie: both, 'x-xsrf-token': csrf })
    expect((await sent('/admin/realms/acme/roles', own.csrf)).status).toBe(403)
    expect((await sent('/admin/realms/acme/users', own.csrf)).status).toBe(200)
    expect((await sent('/admin/realms/other/roles', own.csrf)).status).toBe(200)
    expect((await sent('/admin/realms/other/roles/none', own.csrf, 'DELETE')).body.code).toBe(
      'csrf',
    )
    expect((await sent('/admin/realms/other/roles/none', server.admin.csrf, 'DELETE')).status).toBe(
      404,
    )
  })
})
