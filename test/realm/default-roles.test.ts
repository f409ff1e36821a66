/** Every new user gets the realm's default role, however the user is created, and no file contains it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { phc, remove, role, senderTo, user } from './changesets/changeset.ts'

describe.each(backends)('the default role on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const newRealm = async () => {
    const realm = `r-${newId()}`
    await server.createRealm(realm)
    const base = `/admin/realms/${realm}`
    const { apply, revision } = senderTo(server, realm)
    const send = (method: string, path: string, body?: unknown) =>
      server.admin.send(method, `${base}${path}`, body)
    const good = async (...operations: Parameters<typeof apply>[0]) => {
      const { status, body } = await apply(operations)
      expect(status, JSON.stringify(body)).toBeLessThan(300)
      return body
    }
    const rolesOf = async (username: string): Promise<string[]> =>
      (await send('GET', `/users/${username}`)).body.roles.toSorted()
    const exported = async () => (await send('GET', '/export')).body
    const userOf = async (username: string): Promise<{ userId: string }> =>
      (await send('GET', `/users/${username}`)).body
    return { realm, send, apply, good, rolesOf, exported, userOf, revision }
  }

  it('is given by a changeset and an import as by REST', async () => {
    const { send, good, rolesOf } = await newRealm()
    await good(role('painter'), user('applied', { roles: ['painter'] }), user('plain'))
    const document = { formatVersion: 1, users: [{ username: 'imported' }] }
    expect((await send('POST', '/import', document)).status).toBe(200)
    expect((await send('POST', '/users', { username: 'posted' })).status).toBe(201)
    expect(await rolesOf('posted')).toEqual(['user'])
    expect(await rolesOf('plain')).toEqual(['user'])
    expect(await rolesOf('imported')).toEqual(['user'])
    expect(await rolesOf('applied')).toEqual(['painter', 'user'])
  })

  it('is the one of the same changeset, where that brings another', async () => {
    const { good, rolesOf } = await newRealm()
    await good(
      user('first'),
      { op: 'put', kind: 'settings', key: 'settings', doc: { defaultRole: 'member' } },
      role('member'),
    )
    expect(await rolesOf('first')).toEqual(['member'])
  })

  it('is no difference between files and realm: a second apply changes nothing, and exports leave it out', async () => {
    const { good, exported, revision, send } = await newRealm()
    await good(user('same'))
    const before = await revision()
    expect((await good(user('same'))).changes).toEqual([])
    expect(await revision()).toBe(before)
    const document = await exported()
    expect(document.users).toEqual([{ username: 'same' }])
    expect((await send('POST', '/import', document)).body.changes).toEqual([])
  })

  it('stays when the document changes, is renamed, or is adopted', async () => {
    const { good, send, rolesOf } = await newRealm()
    await send('POST', '/users', { username: 'adopted' })
    await good(role('painter'), user('kept'), user('adopted', { roles: ['painter'] }))
    await good(user('kept', { firstName: 'New', roles: ['painter'] }))
    await good(user('named', { roles: ['painter'] }, { op: 'rename', from: 'kept' }))
    expect(await rolesOf('named')).toEqual(['painter', 'user'])
    expect(await rolesOf('adopted')).toEqual(['painter', 'user'])
  })

  it('that a user got stays when the realm gets another one', async () => {
    const { good, rolesOf } = await newRealm()
    await good(user('early'), role('member'))
    await good({ op: 'put', kind: 'settings', key: 'settings', doc: { defaultRole: 'member' } })
    await good(user('early', { firstName: 'New' }), user('late'))
    expect(await rolesOf('early')).toEqual(['user'])
    expect(await rolesOf('late')).toEqual(['member'])
  })

  it('can be taken away, by REST or by a document that named it', async () => {
    const { good, send, rolesOf, userOf, exported } = await newRealm()
    await good(user('one'), user('two', { roles: ['user'] }))
    const { userId } = await userOf('one')
    const before = await exported()
    const [{ roleId }] = (await send('GET', `/users/${userId}/roles`)).body
    expect((await send('DELETE', `/users/${userId}/roles/${roleId}`)).status).toBe(204)
    expect(await rolesOf('one')).toEqual([])
    expect((await exported()).users).toEqual(before.users)
    await good(user('one', { firstName: 'New' }))
    expect(await rolesOf('one')).toEqual([])
    await good(user('two'))
    expect(await rolesOf('two')).toEqual([])
  })

  it('comes back with a user whom a rollback brings back', async () => {
    const { good, send, rolesOf, revision } = await newRealm()
    await good(user('back'))
    const then = await revision()
    await good(remove('user', 'back'))
    expect((await send('POST', `/revisions/${then}/rollback`, {})).status).toBeLessThan(300)
    expect(await rolesOf('back')).toEqual(['user'])
  })

  it('that grants what the caller lacks is no way in: a user with a password is refused', async () => {
    const { realm, good } = await newRealm()
    await good(role('mighty', { permissions: ['manage-realm'] }))
    await good({ op: 'put', kind: 'settings', key: 'settings', doc: { defaultRole: 'mighty' } })
    const helper = await server.userWith(realm, ['manage-users', 'view-users'])
    const { apply } = senderTo(server, realm, helper)
    const withPassword = user('way-in', {}, { secrets: { '/passwordHash': phc } })
    const { status, body } = await apply([withPassword])
    expect([status, body.detail]).toEqual([
      403,
      expect.stringContaining('the default role grants manage-realm'),
    ])
  })
})
