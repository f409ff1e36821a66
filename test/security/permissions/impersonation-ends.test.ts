/**
 * What an administrator does as a user ends with the administrator: the session of the user, and what was issued in it. A stolen
 * account of an administrator is shut out everywhere at once, also where it acts as another administrator.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../../oidc/fixture.ts'
import {
  authorizeUrl,
  codeOf,
  exchange,
  newPerson,
  type Person,
  password,
  redirectUri,
} from '../../oidc/relying-party.ts'
import { addUser } from '../../oidc/users.ts'
import { backends } from '../../support/backends.ts'
import type { Client } from '../../support/server.ts'

describe.each(backends)('an administrator who acts as a user on $name', (backend) => {
  let site: OidcSite
  let app: TestClient
  let ann: UserRow
  beforeAll(async () => {
    site = await openIssuer(backend)
    app = await site.client({
      clientId: 'app',
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [redirectUri],
      scopes: ['offline_access'],
    })
    ann = await addUser(site, { username: 'ann' })
    await site.admin('POST', `/users/${ann.id}/roles`, { name: 'admin' })
  })
  afterAll(() => site.close())

  interface Administrator {
    readonly realmId: string
    readonly userId: string
    readonly username: string
  }
  const usersOf = (realm: string): string => `/admin/realms/${realm}/users`
  const administrator = async (realm = 'acme'): Promise<Administrator> => {
    const { userId } = await site.server.userWith(realm, ['realm-admin'])
    return (await site.server.admin.send('GET', `${usersOf(realm)}/${userId}`)).body
  }
  /** Another one each time: the browser that acts as a user has that session instead. */
  const sessionOf = ({ realmId, username }: Administrator): Promise<Client> =>
    site.server.signedIn(realmId, username)

  interface Acting {
    readonly person: Person
    readonly accessToken: string
    readonly refreshToken: string
  }

  /** The browser of the session, and tokens that were issued in it. */
  const actAsAnn = async (by: Administrator): Promise<Acting> => {
    const { send } = await sessionOf(by)
    const started = await send('POST', `/admin/realms/acme/users/${ann.id}/impersonate`, {})
    expect(started.status).toBe(200)
    const cookie = String(started.headers['set-cookie']).split(';')[0] ?? ''
    const person = newPerson(site)
    person.jar.set('iam-session-acme', cookie.slice(cookie.indexOf('=') + 1))
    const url = authorizeUrl(site, app, { scope: 'openid offline_access' })
    const { body } = await exchange(site, app, codeOf(await person.open(url)))
    return { person, accessToken: body.access_token, refreshToken: body.refresh_token }
  }

  const reach = async ({
    person,
    accessToken,
    refreshToken,
  }: Acting): Promise<Record<string, unknown>> => {
    const credentials = { client_id: app.clientId, client_secret: app.secret }
    const authorization = `Bearer ${accessToken}`
    const cookie = `iam-session-acme=${person.jar.get('iam-session-acme')}`
    const statusOf = async (path: string) =>
      (await site.server.anonymous.send('GET', path, undefined, { cookie })).status
    const introspected = await site.post('/introspect', { ...credentials, token: accessToken })
    const told = await site.get('/userinfo', { authorization })
    const refreshed = await site.post('/token', {
      ...credentials,
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
    })
    return {
      account: await statusOf('/realms/acme/account/profile'),
      admin: await statusOf('/admin/realms/acme/users'),
      active: introspected.body.active,
      userinfo: told.status,
      refresh: refreshed.status,
    }
  }
  const all = { account: 200, admin: 200, active: true, userinfo: 200, refresh: 200 }
  const none = { account: 401, admin: 401, active: false, userinfo: 401, refresh: 400 }

  const endings: Readonly<Record<string, (by: Administrator) => Promise<unknown>>> = {
    'is disabled': ({ userId, username }) =>
      site.admin('PUT', `/users/${userId}`, { username, enabled: false }),
    'is deleted': ({ userId }) => site.admin('DELETE', `/users/${userId}`),
    'is locked': ({ userId, username }) =>
      site.admin('PUT', `/users/${userId}`, { username, locked: true }),
    'gets another password': ({ userId }) =>
      site.admin('PUT', `/users/${userId}/password`, { newPassword: 'another long passphrase 8' }),
    'loses the role': async ({ realmId, userId }) => {
      const { send } = site.server.admin
      const roles = `${usersOf(realmId)}/${userId}/roles`
      const { body } = await send('GET', roles)
      for (const { roleId } of body) await send('DELETE', `${roles}/${roleId}`)
    },
    'signs out everywhere else': async (by) =>
      (await sessionOf(by)).send('DELETE', '/realms/acme/account/sessions'),
  }

  it.each(Object.keys(endings))('does so no longer once the administrator %s', async (ending) => {
    const [by, other] = [await administrator(), await administrator()]
    const [ended, kept] = [await actAsAnn(by), await actAsAnn(other)]
    expect(await reach(ended)).toEqual(all)
    const again = await actAsAnn(by)
    await endings[ending]?.(by)
    expect(await reach(again)).toEqual(none)
    expect(await reach(kept)).toEqual(all)
  })

  it('does so no longer once the user signs in, in the same browser', async () => {
    await site.admin('PUT', `/users/${ann.id}/password`, { newPassword: password })
    const acting = await actAsAnn(await administrator())
    const url = authorizeUrl(site, app, { prompt: 'login' })
    const { body } = await exchange(site, app, codeOf(await acting.person.signIn(url, 'ann')))
    expect(claimsOf(body.access_token)).not.toHaveProperty('act')
    const ofSession = { account: 200, admin: 200 }
    expect(await reach(acting)).toEqual({ ...none, ...ofSession })
  })

  it('does so no longer once an administrator of master loses only the role', async () => {
    const by = await administrator('master')
    const acting = await actAsAnn(by)
    expect(await reach(acting)).toEqual(all)
    const again = await actAsAnn(by)
    await endings['loses the role']?.(by)
    expect(await reach(again)).toEqual(none)
  })

  it('gets nothing offline as the user, which would outlive the session', async () => {
    const by = await administrator()
    const acting = await actAsAnn(by)
    const { body } = await site.admin('GET', '/sessions')
    const mine = body.filter((one: { userId: string }) => one.userId === ann.id)
    for (const { id } of mine) await site.admin('DELETE', `/sessions/${id}`)
    expect(await reach(acting)).toEqual(none)
  })
})
