/** References: refused, detached, cascaded, and kept through renames; ids stay. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('references on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)
  const revision = async (): Promise<number> => (await server.admin.send('GET', base)).body.revision

  it('refuses to delete what is used, with the count and the first 20 users of it', async () => {
    await send('POST', '/flows', { alias: 'inner', topLevel: false })
    for (let i = 0; i < 25; i += 1)
      await send('POST', '/flows', {
        alias: `outer-${String(i).padStart(2, '0')}`,
        authenticationExecutions: [{ flowAlias: 'inner' }],
      })
    const before = await revision()
    const refused = await send('DELETE', '/flows/inner')
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ code: 'in-use', usedByCount: 25 })
    expect(refused.body.usedBy).toHaveLength(20)
    expect(refused.body.usedBy[0]).toEqual({ kind: 'flow', key: 'outer-00' })
    expect(await revision()).toBe(before)
    expect((await send('GET', '/flows/inner')).status).toBe(200)
  })

  it('says of the scope openid that it is to be left out: every client may request it', async () => {
    const posted = await send('POST', '/clients', { clientId: 'oidc', scopes: ['openid'] })
    const operations = [
      { op: 'put', kind: 'client', key: 'oidc', doc: { clientId: 'oidc', scopes: ['openid'] } },
    ]
    const applied = await send('POST', '/changesets', {
      baseRevision: await revision(),
      source: 'estate',
      operations,
    })
    for (const { status, body } of [posted, applied]) {
      expect(status).toBe(400)
      expect(body.errors[0]).toMatchObject({ code: 'missing-reference' })
      expect(body.errors[0].message).toContain('leave it out')
    }
  })

  it('lets go of a deleted role where the field allows it, in the same revision', async () => {
    const made = await send('POST', '/roles', { name: 'temporary' })
    await send('POST', '/roles', { name: 'holder', composites: ['temporary', 'user'] })
    const before = await revision()
    expect((await send('DELETE', `/roles/${made.body.roleId}`)).status).toBe(204)
    expect((await send('GET', '/roles/holder')).body.composites).toEqual(['user'])
    expect(await revision()).toBe(before + 1)
    const operations = await server.areas.storage.db
      .selectFrom('revision_operations')
      .select(['op', 'key'])
      .where('realm', '=', 'acme')
      .where('revision', '=', before + 1)
      .orderBy('n')
      .execute()
    expect(operations).toContainEqual({ op: 'delete', key: 'temporary' })
    expect(operations).toContainEqual({ op: 'update', key: 'holder' })
  })

  it('writes no default into a document whose reference follows a rename', async () => {
    const settings = async () =>
      (await (await server.areas.copy.fresh('acme'))?.get('settings', 'settings'))?.body
    const role = await send('PUT', '/roles/user', { name: 'everybody' })
    expect(await settings()).toEqual({ defaultRole: 'everybody' })
    await send('PUT', `/roles/${role.body.roleId}`, { name: 'user' })
    expect(await settings()).toEqual({})
  })

  it('keeps the flow of sign-ins one that runs by itself, whichever side is written', async () => {
    const flow = (await send('GET', '/flows/browser')).body
    const refused = await send('PUT', '/flows/browser', { ...flow, topLevel: false })
    expect(refused.body.errors).toMatchObject([{ field: '/topLevel', code: 'sub-flow' }])
    await send('POST', '/flows', { alias: 'part', topLevel: false })
    const settings = await send('PUT', '/settings', { browserFlow: 'part' })
    expect(settings.body.errors).toMatchObject([{ field: '/browserFlow', code: 'sub-flow' }])
  })

  it('takes the role from users when it is deleted', async () => {
    const role = await send('POST', '/roles', { name: 'short-lived' })
    const user = await send('POST', '/users', { username: 'ann' })
    await send('POST', `/users/${user.body.userId}/roles`, { name: 'short-lived' })
    expect((await send('GET', '/users/ann')).body.roles).toEqual(['short-lived', 'user'])
    await send('DELETE', `/roles/${role.body.roleId}`)
    expect((await send('GET', '/users/ann')).body.roles).toEqual(['user'])
  })

  it('keeps references and ids through a rename', async () => {
    const scope = await send('POST', '/client-scopes', { name: 'orders' })
    const client = await send('POST', '/clients', { clientId: 'shop', scopes: ['orders', 'email'] })
    const role = await send('POST', `/clients/shop/roles`, { name: 'buyer' })
    const renamed = await send('PUT', `/client-scopes/${scope.body.id}`, { name: 'purchases' })
    expect(renamed.body).toMatchObject({ id: scope.body.id, name: 'purchases' })
    expect((await send('GET', '/clients/shop')).body.scopes).toEqual(['email', 'purchases'])
    expect((await send('GET', '/client-scopes/orders')).status).toBe(404)

    const { secret: _, ...body } = client.body
    const moved = await send('PUT', '/clients/shop', {
      ...body,
      scopes: ['email'],
      clientId: 'store',
    })
    expect(moved.body).toMatchObject({ id: client.body.id, clientId: 'store', scopes: ['email'] })
    expect((await send('GET', '/clients/store/roles/buyer')).body.id).toBe(role.body.id)
    expect((await send('GET', '/clients/shop')).status).toBe(404)
  })

  it('refuses a rename onto a key that is taken, and changes nothing', async () => {
    await send('POST', '/client-scopes', { name: 'first' })
    const second = await send('POST', '/client-scopes', { name: 'second' })
    const before = await revision()
    const refused = await send('PUT', `/client-scopes/${second.body.id}`, { name: 'first' })
    expect(refused.status).toBe(409)
    expect(await revision()).toBe(before)
  })

  it('moves and renames a group with everything below it, and members stay', async () => {
    const staff = await send('POST', '/groups', { name: 'Staff' })
    const desk = await send('POST', '/groups', { name: 'Desk', parentId: staff.body.groupId })
    const night = await send('POST', '/groups', { name: 'Night', parentId: desk.body.groupId })
    const other = await send('POST', '/groups', { name: 'Other' })
    expect(night.body.parentId).toBe(desk.body.groupId)

    const renamed = await send('PUT', `/groups/${staff.body.groupId}`, { name: 'People' })
    expect(renamed.status).toBe(200)
    const deep = await send('GET', `/groups/${encodeURIComponent('/People/Desk/Night')}`)
    expect(deep.body.groupId).toBe(night.body.groupId)

    const moved = await send('PUT', `/groups/${desk.body.groupId}`, {
      name: 'Desk',
      parentId: other.body.groupId,
    })
    expect(moved.body.parentId).toBe(other.body.groupId)
    const there = await send('GET', `/groups/${encodeURIComponent('/Other/Desk/Night')}`)
    expect(there.body).toMatchObject({
      groupId: night.body.groupId,
      parentId: desk.body.groupId,
    })
    const top = await send('PUT', `/groups/${desk.body.groupId}`, { name: 'Desk', parentId: null })
    expect(top.body.parentId).toBeNull()
    expect((await send('GET', `/groups/${encodeURIComponent('/Desk/Night')}`)).status).toBe(200)

    expect((await send('DELETE', `/groups/${desk.body.groupId}`)).status).toBe(204)
    expect((await send('GET', `/groups/${night.body.groupId}`)).status).toBe(404)
  })

  it('refuses a group below itself, and two siblings of one name', async () => {
    const top = await send('POST', '/groups', { name: 'Top' })
    const inner = await send('POST', '/groups', { name: 'Inner', parentId: top.body.groupId })
    for (const parentId of [inner.body.groupId, top.body.groupId]) {
      const refused = await send('PUT', `/groups/${top.body.groupId}`, { name: 'Top', parentId })
      expect(refused.status).toBe(400)
      expect(refused.body.errors[0]).toMatchObject({ field: '/parentId', code: 'cycle' })
    }
    const twin = await send('POST', '/groups', { name: 'Inner', parentId: top.body.groupId })
    expect(twin.status).toBe(409)
    expect((await send('POST', '/groups', { name: 'Inner' })).status).toBe(201)
  })

  it('refuses roles and flows that contain themselves', async () => {
    await send('POST', '/roles', { name: 'a' })
    await send('POST', '/roles', { name: 'b', composites: ['a'] })
    const cycle = await send('PUT', '/roles/a', { name: 'a', composites: ['b'] })
    expect(cycle.body.errors[0]).toMatchObject({ field: '/composites', code: 'cycle' })
    await send('POST', '/flows', { alias: 'x' })
    await send('POST', '/flows', { alias: 'y', authenticationExecutions: [{ flowAlias: 'x' }] })
    const flow = await send('PUT', '/flows/x', {
      alias: 'x',
      authenticationExecutions: [{ flowAlias: 'y' }],
    })
    expect(flow.body.errors[0]).toMatchObject({ code: 'cycle' })
  })

  it('does not let a flow run inside itself, however long the way round is', async () => {
    const run = (alias: string, ...inside: string[]) => ({
      alias,
      authenticationExecutions: inside.map((flowAlias) => ({ flowAlias })),
    })
    for (const flow of [run('far'), run('middle', 'far'), run('near', 'middle')])
      expect((await send('POST', '/flows', flow)).status).toBe(201)
    const closed = await send('PUT', '/flows/far', run('far', 'near'))
    expect(closed).toMatchObject({
      status: 400,
      body: { errors: [{ field: '/authenticationExecutions', code: 'cycle' }] },
    })
  })

  it('resolves names among the children of one client, and follows renames there', async () => {
    for (const clientId of ['vault', 'twin']) {
      await send('POST', '/clients', { clientId })
      await send('POST', `/clients/${clientId}/authz/scopes`, { name: 'read' })
    }
    const elsewhere = await send('POST', '/clients/vault/authz/resources', {
      name: 'box',
      scopes: ['write'],
    })
    expect(elsewhere.body.errors[0]).toMatchObject({ field: '/scopes', code: 'missing-reference' })
    await send('POST', '/clients/vault/authz/resources', { name: 'box', scopes: ['read'] })
    await send('POST', '/clients/twin/authz/resources', { name: 'box', scopes: ['read'] })
    await send('PUT', '/clients/vault/authz/scopes/read', { name: 'look' })
    const scopesIn = async (client: string) =>
      (await send('GET', `/clients/${client}/authz/resources/box`)).body.scopes
    expect(await scopesIn('vault')).toEqual(['look'])
    expect(await scopesIn('twin')).toEqual(['read'])
    const { body: vault } = await send('GET', '/clients/vault')
    await send('PUT', '/clients/vault', { ...vault, clientId: 'safe' })
    expect(await scopesIn('safe')).toEqual(['look'])
    await send('DELETE', '/clients/safe/authz/scopes/look')
    expect(await scopesIn('safe')).toEqual([])
    const settings = await send('PUT', '/clients/safe/authz/settings', {
      policyEnforcementMode: 'PERMISSIVE',
    })
    expect(settings.status).toBe(200)
    expect((await send('GET', '/clients/safe/authz/settings')).body).toEqual({
      allowRemoteResourceManagement: true,
      policyEnforcementMode: 'PERMISSIVE',
      decisionStrategy: 'UNANIMOUS',
    })
  })

  it('keeps what the children of a renamed document refer to elsewhere', async () => {
    await send('POST', '/groups', { name: 'Guards' })
    await send('POST', '/clients', { clientId: 'gate' })
    const policy = { name: 'guarded', type: 'group', groups: ['/Guards'] }
    expect((await send('POST', '/clients/gate/authz/policies', policy)).status).toBe(201)
    const { body } = await send('GET', '/clients/gate')
    expect((await send('PUT', '/clients/gate', { ...body, clientId: 'door' })).status).toBe(200)
    const { body: moved } = await send('GET', '/clients/door/authz/policies/guarded')
    expect(moved.groups).toEqual(['/Guards'])
  })

  it('keeps built-in documents', async () => {
    expect((await send('DELETE', '/roles/admin')).body.code).toBe('built-in')
    expect((await send('DELETE', '/flows/browser')).body.code).toBe('built-in')
    const changed = await send('PUT', '/roles/auditor', {
      name: 'auditor',
      description: 'Reads.',
    })
    expect(changed.status).toBe(200)
    expect((await send('DELETE', '/roles/auditor')).status).toBe(409)
  })

  it('agrees with the references table after all of it', async () => {
    const { referencesOf } = await import('#schemas/walk.ts')
    const { kindNamed } = await import('#schemas/registry.ts')
    const { db } = server.areas.storage
    const documents = await db.selectFrom('documents').selectAll().execute()
    const refs = await db.selectFrom('document_refs').selectAll().execute()
    const place = new Map(documents.map((d) => [`${d.realm}\n${d.kind}\n${d.key}`, d.id]))
    const expected = documents.flatMap((document) =>
      referencesOf(kindNamed(document.kind), JSON.parse(document.body), document.key).map(
        ({ field, kind, key }) =>
          `${document.id} ${field} ${place.get(`${document.realm}\n${kind}\n${key}`)}`,
      ),
    )
    expect(refs.map((ref) => `${ref.from_id} ${ref.path} ${ref.to_id}`).sort()).toEqual(
      [...new Set(expected)].sort(),
    )
  })
})
