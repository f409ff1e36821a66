/** Access to SCIM, and what a sender can never do. */

import { describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import type { Answer } from '../support/server.ts'
import { errorSchema, groupSchema, openSite, senderOf, startWorld, userSchema } from './sender.ts'

const site = openSite()

const paths = [
  '/Users',
  '/Groups',
  '/ServiceProviderConfig',
  '/Schemas',
  '/ResourceTypes',
  '/Me',
  '/x',
]

describe('a token', () => {
  it('of another realm, of another purpose, made up or missing is refused with 401 (CVE-2025-4210)', async () => {
    const other = await site.world.sender({}, 'globex')
    const initial = await site.world.admin('POST', '/provisioning/initial-access-tokens', {})
    const foreign = [other.token, initial.body.token, 'made-up', `${site.scim.token}x`]
    for (const token of foreign) {
      const stranger = senderOf(site.world.server, 'acme', { token, id: '' })
      for (const path of paths) {
        const answer = await stranger.send('GET', path)
        expect([path, answer.status]).toEqual([path, 401])
        expect(answer.body).toMatchObject({ schemas: [errorSchema], status: '401' })
        // RFC 6750 §3.1
        const challenge = 'Bearer realm="acme", error="invalid_token"'
        expect(answer.headers['www-authenticate']).toBe(challenge)
      }
    }
    const none = await site.world.server.anonymous.send('GET', '/realms/acme/scim/v2/Users')
    expect([none.status, none.headers['www-authenticate']]).toEqual([401, 'Bearer realm="acme"'])
    const cookie = await site.world.server.admin.send('GET', '/realms/acme/scim/v2/Users')
    expect(cookie.status).toBe(401)
  })

  it('is refused once it is revoked; a second token works beside it during a rotation', async () => {
    const [old, next] = [
      await site.world.sender({ sender: 'r' }),
      await site.world.sender({ sender: 'r' }),
    ]
    expect((await old.send('GET', '/Users?count=0')).status).toBe(200)
    expect((await next.send('GET', '/Users?count=0')).status).toBe(200)
    await site.world.admin('DELETE', `/provisioning/scim-tokens/${old.tokenId}`)
    expect((await old.send('GET', '/Users?count=0')).status).toBe(401)
    expect((await next.send('GET', '/Users?count=0')).status).toBe(200)
  })

  it('gives access to the resource types of its scopes', async () => {
    const people = await site.world.sender({ scopes: ['users'] })
    const groups = await site.world.sender({ scopes: ['groups'] })
    expect((await people.send('GET', '/Users?count=0')).status).toBe(200)
    expect((await people.send('GET', '/Groups?count=0')).status).toBe(403)
    expect((await groups.send('GET', '/Users?count=0')).status).toBe(403)
    expect((await groups.send('GET', '/Groups?count=0')).status).toBe(200)
    const search = { schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'] }
    expect((await people.send('POST', '/.search', search)).status).toBe(403)
    expect((await site.scim.send('POST', '/.search', search)).status).toBe(200)
  })

  it('tells when it was used last', async () => {
    const one = await site.world.sender({ label: 'used' })
    const listed = async () =>
      (await site.world.admin('GET', '/provisioning/scim-tokens')).body.find(
        ({ id }: { id: string }) => id === one.tokenId,
      )
    expect(await listed()).toMatchObject({ label: 'used', sender: 'default', lastUsedAt: null })
    await one.send('GET', '/Users?count=0')
    expect((await listed()).lastUsedAt).toBeGreaterThan(0)
  })

  it('takes its sender and scopes from a fixed vocabulary', async () => {
    for (const body of [{ sender: 'A b' }, { scopes: [] }, { scopes: ['admin'] }, { count: 1 }])
      expect((await site.world.admin('POST', '/provisioning/scim-tokens', body)).status).toBe(400)
  })
})

describe('the realm', () => {
  it('answers 404 to everyone where SCIM is off, the realm is disabled or there is none', async () => {
    const other = await site.world.sender({}, 'globex')
    const put = (path: string, body: object) =>
      site.world.server.admin.send('PUT', `/admin/realms/globex${path}`, body)
    expect((await other.send('GET', '/Users')).status).toBe(200)
    await put('/provisioning', { scimEnabled: false })
    for (const path of paths) {
      const answer = await other.send('GET', path)
      expect([path, answer.status, answer.body.status]).toEqual([path, 404, '404'])
    }
    await put('/provisioning', { scimEnabled: true })
    await put('/settings', { enabled: false })
    expect((await other.send('GET', '/Users')).status).toBe(404)
    await put('/settings', { enabled: true })
    expect((await other.send('GET', '/Users')).status).toBe(200)
    const nowhere = senderOf(site.world.server, 'nowhere', { token: site.scim.token, id: '' })
    expect((await nowhere.send('GET', '/Users')).status).toBe(404)
  })

  it('tells anyone how to authenticate and what works, and nothing else (RFC 7643 §5, RFC 7644 §4)', async () => {
    const ask = (method: string, path: string, headers = {}) =>
      site.world.server.anonymous.send(method, `/realms/acme/scim/v2${path}`, undefined, headers)
    for (const path of [
      '/ServiceProviderConfig',
      '/ResourceTypes',
      '/ResourceTypes/User',
      '/Schemas',
      `/Schemas/${userSchema}`,
    ]) {
      const answer = await ask('GET', path)
      expect([path, answer.status]).toEqual([path, 200])
      expect(answer.body).toEqual((await site.scim.send('GET', path)).body)
      // Senders try their token here: one that is sent must be good.
      for (const authorization of ['Bearer made-up', 'Basic eDp5', 'nonsense'])
        expect((await ask('GET', path, { authorization })).status, authorization).toBe(401)
      expect((await ask('DELETE', path)).status).toBe(405)
    }
    for (const path of ['', '/', '/Users', '/Groups', '/Users/x', '/Me', '/Bulk', '/Nothing'])
      expect((await ask('GET', path)).status, path).toBe(401)
  })

  it('lists the address of SCIM among its endpoints while SCIM is on', async () => {
    const endpoints = async () =>
      (await site.world.server.admin.send('GET', '/admin/realms/globex/endpoints')).body
    const put = (scimEnabled: boolean) =>
      site.world.server.admin.send('PUT', '/admin/realms/globex/provisioning', { scimEnabled })
    expect((await endpoints()).scim).toMatch(/\/realms\/globex\/scim\/v2$/)
    await put(false)
    expect((await endpoints()).scim).toBeUndefined()
    await put(true)
  })

  it('keeps its users from tokens of other realms', async () => {
    const other = await site.world.sender({}, 'globex')
    const { id } = await site.scim.user('ours')
    const group = await site.scim.group('Ours')
    for (const path of [`/Users/${id}`, `/Groups/${group.id}`])
      for (const method of ['GET', 'DELETE'])
        expect((await other.send(method, path)).status).toBe(404)
    const theirs = await other.group('Theirs')
    const joined = await other.patch(`/Groups/${theirs.id}`, {
      op: 'add',
      path: 'members',
      value: [{ value: id }],
    })
    expect([joined.status, joined.body.members]).toEqual([200, undefined])
    expect(
      (await other.send('GET', '/Users?filter=userName%20eq%20%22ours%22')).body.totalResults,
    ).toBe(0)
  })
})

describe('administrators', () => {
  const adminGroup = async (name: string) => {
    const role = await site.world.admin('POST', '/roles', { name: `role-${name}` })
    await site.world.admin('PUT', `/admin-roles/${role.body.roleId}`, {
      permissions: ['view-users'],
    })
    const group = await site.world.admin('POST', '/groups', { name })
    await site.world.admin('PUT', `/groups/${group.body.groupId}/roles/${role.body.roleId}`)
    return { groupId: group.body.groupId as string, role: `role-${name}` }
  }

  it('are not made by a membership: no sender adds members to a group that grants a permission', async () => {
    const { groupId } = await adminGroup('Operators')
    const { id } = await site.scim.user('climber')
    const member = { value: [{ value: id }] }
    const nested = await site.scim.group('Ladder', { members: [{ value: id }] })
    const attempts = [
      await site.scim.patch(`/Groups/${groupId}`, { op: 'add', path: 'members', ...member }),
      await site.scim.patch(`/Groups/${groupId}`, {
        op: 'add',
        path: 'members',
        value: [{ value: nested.id }],
      }),
      await site.scim.send('PUT', `/Groups/${groupId}`, {
        schemas: [groupSchema],
        displayName: 'Operators',
        members: [{ value: id }],
      }),
    ]
    expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403])
    expect((await site.world.admin('GET', `/groups/${groupId}/members`)).body).toEqual([])
  })

  it('are not made by roles and entitlements, which are stored and grant nothing', async () => {
    const { role } = await adminGroup('Keepers')
    const { id } = await site.scim.user('roles', {
      roles: [{ value: role, primary: true }, { value: 'realm-admin' }],
      entitlements: [{ value: role }],
    })
    const { body } = await site.world.admin('GET', `/users/${id}/roles`)
    expect(body.map(({ name }: { name: string }) => name)).not.toContain(role)
  })

  it('are not made by the default role of the realm', async () => {
    const { role } = await adminGroup('Defaults')
    const before = (await site.world.admin('GET', '/settings')).body.defaultRole
    expect((await site.world.admin('PUT', '/settings', { defaultRole: role })).status).toBe(200)
    const answer = await site.scim.send('POST', '/Users', {
      schemas: [userSchema],
      userName: 'd-1',
    })
    await site.world.admin('PUT', '/settings', { defaultRole: before })
    expect(answer.status).toBe(403)
  })

  it('are locked out by a sender, and changed in no other way', async () => {
    const boss = await site.world.server.userWith('acme', ['manage-users'])
    const path = `/Users/${boss.userId}`
    const { userName } = (await site.scim.send('GET', path)).body
    const changes = [
      { op: 'replace', path: 'password', value: 'a long enough phrase 4711' },
      { op: 'replace', path: 'userName', value: 'other' },
      { op: 'replace', path: 'emails', value: [{ value: 'thief@example.com' }] },
      { op: 'replace', value: { active: false, title: 'x' } },
    ]
    for (const change of changes) expect((await site.scim.patch(path, change)).status).toBe(403)
    expect((await site.scim.send('DELETE', path)).status).toBe(403)
    expect(
      (await site.scim.patch(path, { op: 'replace', path: 'active', value: 'False' })).status,
    ).toBe(200)
    expect((await site.scim.send('GET', path)).body).toMatchObject({ userName, active: false })
    expect(
      (await site.scim.patch(path, { op: 'replace', path: 'active', value: true })).status,
    ).toBe(403)
  })
})

describe('the master realm', () => {
  it('keeps its last administrator when a sender deactivates or deletes the user', async () => {
    await site.world.server.admin.send('PUT', '/admin/realms/master/provisioning', {
      scimEnabled: true,
    })
    const master = await site.world.sender({}, 'master')
    const path = `/Users/${site.world.server.admin.userId}`
    const answer = await master.patch(path, { op: 'replace', path: 'active', value: false })
    expect([answer.status, answer.body.status]).toEqual([409, '409'])
    expect((await master.send('DELETE', path)).status).toBe(403)
    expect((await master.send('GET', path)).body.active).toBe(true)
  })
})

describe('a token from before senders had names', () => {
  it('belongs to the default sender and has both scopes', async () => {
    const made = await site.world.admin('POST', '/provisioning/scim-tokens', {})
    const { storage } = site.world.server.areas
    const { db } = storage
    await storage.commit([
      statement(db.deleteFrom('scim_tokens').where('token_id', '=', made.body.id)),
    ])
    const old = senderOf(site.world.server, 'acme', made.body)
    expect((await old.send('GET', '/Users?count=0')).status).toBe(200)
    expect((await old.send('GET', '/Groups?count=0')).status).toBe(200)
    const { body } = await site.world.admin('GET', '/provisioning/scim-tokens')
    expect(body.find(({ id }: { id: string }) => id === made.body.id)).toMatchObject({
      sender: 'default',
      scopes: ['users', 'groups'],
      lastUsedAt: null,
    })
  })
})

describe('an expired token', () => {
  it('is refused', async () => {
    let now = Date.now()
    const later = await startWorld({ clock: { now: () => now } })
    const one = await later.sender({ expiration: 60 })
    expect((await one.send('GET', '/Users?count=0')).status).toBe(200)
    now += 61_000
    expect((await one.send('GET', '/Users?count=0')).status).toBe(401)
    await later.close()
  })
})

describe('a flood of wrong tokens', () => {
  it('is limited per address; a sender with a good token is served, and other addresses are not held up', async () => {
    // The limit does not recover while this clock stands still.
    const now = Date.now()
    const still = await startWorld({ clock: { now: () => now } })
    const wrong = senderOf(still.server, 'acme', { token: 'wrong', id: '' })
    const answers: Answer[] = []
    for (let n = 0; n < 55; n += 1) answers.push(await wrong.send('GET', '/Users'))
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited).toHaveLength(5)
    expect(limited[0]?.body).toMatchObject({ schemas: [errorSchema], status: '429' })
    expect(Number(limited[0]?.headers['retry-after'])).toBeGreaterThan(0)
    const good = await still.sender({ sender: 'steady' })
    expect((await good.send('GET', '/Users?count=0')).status).toBe(200)
    const path = `/admin/realms/acme/provisioning/scim-tokens/${good.tokenId}`
    await still.server.admin.send('DELETE', path)
    expect((await good.send('GET', '/Users?count=0')).status).toBe(429)
    const elsewhere = await still.server.app.inject({
      method: 'GET',
      url: '/realms/acme/scim/v2/Users',
      headers: { authorization: 'Bearer wrong' },
      remoteAddress: '192.0.2.8',
    })
    expect(elsewhere.statusCode).toBe(401)
    await still.close()
  })
})
