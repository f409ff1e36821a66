/** Owners of documents, protection, and the permission to send a changeset. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Permission } from '#schemas/access/permissions.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { client, documentIn, put, remove, role, type Sender, senderTo, user } from './changeset.ts'

describe.each(backends)('documents of a source on $name', (backend) => {
  let server: TestServer
  let to: Sender
  const base = '/admin/realms/acme'
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    to = senderTo(server, 'acme')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)
  const document = (kind: string, key: string) => documentIn(server, 'acme', kind, key)
  const as = async (...permissions: Permission[]): Promise<Sender> =>
    senderTo(server, 'acme', await server.userWith('acme', permissions))

  it('are declared and owned by it, also those that were made by hand; built-in ones stay so', async () => {
    await send('POST', '/roles', { name: 'by-hand' })
    const before = await document('role', 'by-hand')
    expect(before).toMatchObject({ origin: 'manual', owner: null })
    const answer = await to.apply([
      role('by-hand'),
      role('declared'),
      role('user', { description: 'Everybody.' }),
    ])
    expect(answer.body.changes).toEqual(
      expect.arrayContaining([
        { op: 'update', kind: 'role', key: 'by-hand', figure: 'adopted', fields: [], secrets: [] },
        { op: 'update', kind: 'role', key: 'user', figure: 'adopted', fields: [], secrets: [] },
      ]),
    )
    expect(await document('role', 'by-hand')).toMatchObject({
      id: before?.id,
      origin: 'declared',
      owner: 'estate',
    })
    expect(await document('role', 'declared')).toMatchObject({
      origin: 'declared',
      owner: 'estate',
    })
    expect(await document('role', 'user')).toMatchObject({ origin: 'built-in', owner: 'estate' })
  })

  it('stay its own when they are changed by hand', async () => {
    await to.apply([role('kept')])
    await send('PUT', '/roles/kept', { name: 'kept', description: 'by hand' })
    expect(await document('role', 'kept')).toMatchObject({ origin: 'declared', owner: 'estate' })
  })

  it('are not written or deleted by another source, unless it takes them over', async () => {
    await to.apply([role('ours'), role('ours-too'), client('our-client')])
    await to.apply([put('client-role', 'our-client/theirs', { name: 'theirs' })], {
      source: 'other',
    })
    const before = await to.revision()
    const operations = [role('theirs'), role('ours'), remove('role', 'ours-too')]
    const refused = await to.apply(operations, { source: 'other' })
    expect(refused).toMatchObject({ status: 409, body: { code: 'owned' } })
    expect(refused.body.documents).toEqual([{ kind: 'role', key: 'ours', owner: 'estate' }])
    const deletion = await to.apply([remove('role', 'ours-too')], { source: 'other' })
    expect(deletion.body).toMatchObject({
      code: 'owned',
      documents: [{ kind: 'role', key: 'ours-too', owner: 'estate' }],
      errors: [{ field: '/operations/0', code: 'owned' }],
    })
    const along = await to.apply([remove('client', 'our-client')])
    expect(along.body).toMatchObject({
      code: 'owned',
      documents: [{ kind: 'client-role', key: 'our-client/theirs', owner: 'other' }],
    })
    expect(await to.revision()).toBe(before)
    const taken = await to.apply(operations, { source: 'other', takeOver: true })
    expect(taken.status, JSON.stringify(taken.body)).toBe(200)
    expect(await document('role', 'ours')).toMatchObject({ owner: 'other' })
    expect(await document('role', 'ours-too')).toBeUndefined()
  })

  it('are all named that another source owns', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `many-${i}`)
    await to.apply(names.map((name) => role(name)))
    const refused = await to.apply(
      names.map((name) => role(name)),
      { source: 'other' },
    )
    expect(refused.body.documents.map(({ key }: { key: string }) => key)).toEqual(names)
  })

  it('that are protected are deleted from no door, directly or along with others', async () => {
    await to.apply([
      role('guarded', {}, { protected: true }),
      client('holding'),
      put('client-role', 'holding/guarded', { name: 'guarded' }, { protected: true }),
      user('guarded', {}, { protected: true }),
    ])
    expect((await document('role', 'guarded'))?.protected).toBe(1)
    const before = await to.revision()
    for (const answer of [
      await to.apply([role('other'), remove('role', 'guarded')]),
      await send('DELETE', '/roles/guarded'),
    ])
      expect(answer).toMatchObject({
        status: 409,
        body: { code: 'protected', documents: [{ kind: 'role', key: 'guarded' }] },
      })
    for (const answer of [
      await to.apply([remove('client', 'holding')]),
      await send('DELETE', '/clients/holding'),
    ])
      expect(answer).toMatchObject({
        status: 409,
        body: { code: 'protected', documents: [{ kind: 'client-role', key: 'holding/guarded' }] },
      })
    const userId = (await document('user', 'guarded'))?.id
    expect((await send('DELETE', `/users/${userId}`)).body.code).toBe('protected')
    const realm = await server.admin.send('DELETE', '/admin/realms/acme')
    expect(realm).toMatchObject({ status: 409, body: { code: 'protected' } })
    expect(await to.revision()).toBe(before)

    await send('PUT', '/roles/guarded', { name: 'guarded', description: 'by hand' })
    expect((await document('role', 'guarded'))?.protected).toBe(1)
    const freed = await to.apply([role('guarded', { description: 'by hand' })])
    expect(freed.body.changes).toEqual([
      { op: 'update', kind: 'role', key: 'guarded', figure: 'updated', fields: [], secrets: [] },
    ])
    expect((await to.apply([remove('role', 'guarded')])).status).toBe(200)
  })

  it('are written by who may write every kind that the changeset names', async () => {
    const roles = await as('manage-roles')
    expect((await roles.apply([role('permitted')])).status).toBe(200)
    const both = await as('manage-roles', 'manage-clients')
    const before = await to.revision()
    const refused = await roles.apply([role('not-this'), client('nor-this')])
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(refused.body.detail).toContain('manage-clients')
    expect((await both.apply([role('not-this'), client('nor-this')])).status).toBe(200)
    expect(await to.revision()).toBe(before + 1)
    const viewer = await as('view-users', 'view-clients', 'view-events')
    for (const dryRun of [false, true])
      expect((await viewer.apply([role('permitted')], { dryRun })).status).toBe(403)
    // Also before it is told what is wrong with the document.
    expect((await viewer.apply([put('client', 'x', { unknown: 1 })])).status).toBe(403)
  })

  it('attach roles to service accounts where the caller manages roles too, as by the action', async () => {
    const clients = await as('manage-clients')
    const both = await as('manage-clients', 'manage-roles')
    await to.apply([
      role('billing'),
      client('api'),
      put('client-role', 'api/seller', { name: 'seller' }),
    ])
    const account = {
      publicClient: false,
      serviceAccountsEnabled: true,
      grantTypes: ['client_credentials'],
    }
    const more = { secrets: { '/secret': 'a secret of more than thirty-two characters' } }
    for (const [name, roles] of [
      ['sa-realm', { serviceAccountRoles: ['billing'] }],
      ['sa-client', { serviceAccountClientRoles: ['api/seller'] }],
    ] as const) {
      const operation = client(name, { ...account, ...roles }, more)
      for (const dryRun of [false, true]) {
        const refused = await clients.apply([operation], { dryRun })
        expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
        expect(refused.body.detail).toContain('manage-roles')
      }
      expect((await both.apply([operation])).status).toBe(200)
      // The roles that it has stay with it, whoever changes the rest.
      const described = client(name, { ...account, ...roles, name: 'Bills' })
      expect((await clients.apply([described])).status).toBe(200)
    }
  })

  it('do not raise who writes them above themselves', async () => {
    const roles = await as('manage-roles', 'manage-users')
    const raised = await roles.apply([role('raised', { permissions: ['manage-realm'] })])
    expect(raised).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    const granted = await roles.apply([user('raised', { roles: ['admin'] })])
    expect(granted).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    await to.apply([user('boss', { roles: ['admin'] })])
    const { id } = (await document('user', 'boss')) ?? {}
    const hijacked = await roles.apply([
      user('boss', { roles: ['admin'], email: 'me@evil.example' }),
    ])
    expect(hijacked.status).toBe(403)
    expect((await send('GET', `/users/${id}`)).body.email).toBeNull()
  })
})
