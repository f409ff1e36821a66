/** `notBefore` of a realm, a client and a user, and what the admin API tells of sessions and service accounts. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Permission } from '#schemas/access/permissions.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { accessTokenOf, addUser, issueGrant, openSession, visit } from '../users.ts'

describe.each(backends)('what was issued before, on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let app: TestClient
  let other: TestClient
  let ann: UserRow
  let bob: UserRow
  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    const fields = {
      grantTypes: ['client_credentials' as const, 'refresh_token' as const],
      serviceAccountsEnabled: true,
    }
    app = await site.client({ clientId: 'app', ...fields })
    other = await site.client({ clientId: 'other', ...fields })
    ann = await addUser(site, { username: 'ann' })
    bob = await addUser(site, { username: 'bob' })
  })
  afterAll(() => site.close())

  const isActive = async ({ clientId, secret }: TestClient, token: string): Promise<boolean> => {
    const fields = { token, client_id: clientId, client_secret: secret }
    return (await site.post('/introspect', fields)).body.active
  }
  const issue = async (client: TestClient, user: UserRow): Promise<string> => {
    const { grant } = await issueGrant(site, client, user)
    return accessTokenOf(site, client, user, grant)
  }
  /** Of both clients for both users, and of the service accounts. */
  const all = async () => ({
    appAnn: await issue(app, ann),
    appBob: await issue(app, bob),
    otherAnn: await issue(other, ann),
    app: await site.token(app),
    other: await site.token(other),
  })
  const alive = async (tokens: Awaited<ReturnType<typeof all>>) => {
    const names: string[] = []
    for (const [name, token] of Object.entries(tokens))
      if (await isActive(name.startsWith('app') ? app : other, token)) names.push(name)
    return names
  }
  const set = (body: object) => site.admin('POST', '/not-before', body)

  it('is refused of a user, a client, and everybody in the realm (CVE-2026-8922)', async () => {
    const tokens = await all()
    now += 2000
    expect(await alive(tokens)).toHaveLength(5)
    const ofAnn = await set({ kind: 'user', id: ann.id })
    expect(ofAnn.body).toEqual({ kind: 'user', id: ann.id, at: now })
    expect(await alive(tokens)).toEqual(['appBob', 'app', 'other'])
    await set({ kind: 'client', id: 'app' })
    expect(await alive(tokens)).toEqual(['other'])
    await set({ kind: 'realm' })
    expect(await alive(tokens)).toEqual([])
    // In the same second, and for as long as it lasts.
    now += 1
    const after = await all()
    now += 2000
    expect(await alive(after)).toHaveLength(5)
    const [event] = await site.events('ADMIN_ACTION')
    expect(event).toMatchObject({ outcome: 'SUCCESS', detail: 'realm' })
  })

  it('needs the permission that the kind asks for, and somebody to be about', async () => {
    const { server } = site
    const cases: readonly [Permission, object][] = [
      ['manage-realm', { kind: 'realm' }],
      ['manage-clients', { kind: 'client', id: app.id }],
      ['manage-users', { kind: 'user', id: 'ann' }],
    ]
    const path = '/admin/realms/acme/not-before'
    for (const [permission] of cases) {
      const { send } = await server.userWith('acme', [permission])
      for (const [needed, body] of cases) {
        const { status } = await send('POST', path, body)
        expect(status, `${permission} ${needed}`).toBe(permission === needed ? 200 : 403)
      }
    }
    const { send } = await server.signedIn('master', 'admin')
    for (const [status, body] of [
      [404, { kind: 'user', id: 'nobody' }],
      [404, { kind: 'client', id: 'nothing' }],
      [400, { kind: 'client' }],
      [400, { kind: 'realm', id: 'acme' }],
      [400, { kind: 'group', id: 'x' }],
    ] as const)
      expect((await send('POST', path, body)).status, JSON.stringify(body)).toBe(status)
    const boss = await server.userWith('acme', ['realm-admin'])
    const little = await server.userWith('acme', ['manage-users'])
    const refused = await little.send('POST', path, { kind: 'user', id: boss.userId })
    expect(refused.status).toBe(403)
  })

  it('shows the clients of a session, and when a service account was last used', async () => {
    now += 1000
    const { session } = await openSession(site, ann)
    await visit(site, session, app)
    await visit(site, session, other)
    const { body: sessions } = await site.admin('GET', '/sessions')
    const found = sessions.find(({ id }: { id: string }) => id === session.sid)
    expect(found.clients).toEqual({ [app.id]: 'app', [other.id]: 'other' })
    await site.client({ clientId: 'idle', serviceAccountsEnabled: true })
    await site.token(app)
    const at = now
    now += 1000
    await site.post('/token', {
      grant_type: 'client_credentials',
      client_id: app.clientId,
      client_secret: 'wrong',
    })
    const { body: accounts } = await site.admin('GET', '/sessions/service-accounts')
    const used = Object.fromEntries(
      accounts.map(({ clientId, lastAccess }: { clientId: string; lastAccess: number | null }) => [
        clientId,
        lastAccess,
      ]),
    )
    expect(used).toMatchObject({ app: at, idle: null })
    expect(used['other']).toBeLessThan(at)
  })
})
