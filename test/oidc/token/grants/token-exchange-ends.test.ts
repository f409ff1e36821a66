/** The end of an exchanged token: it ends with its actor, and its audience stays within that of the subject token. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { backends } from '../../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../../fixture.ts'
import { accessTokenOf, addUser, issueGrant } from '../../users.ts'

const type = 'urn:ietf:params:oauth:token-type:access_token'

describe.each(backends)('an exchanged token on $name', (backend) => {
  let site: OidcSite
  let app: TestClient
  let alice: UserRow
  let bob: UserRow
  beforeAll(async () => {
    site = await openIssuer(backend)
    app = await site.client({ clientId: 'app', grantTypes: ['refresh_token', 'token-exchange'] })
    await site.admin('PUT', `/clients/${app.id}/allowed-resources`, ['https://api.example/'])
    alice = await addUser(site, { username: 'alice' })
    bob = await addUser(site, { username: 'bob' })
  })
  afterAll(() => site.close())

  const post = (path: string, fields: Readonly<Record<string, string>>) =>
    site.post(path, { client_id: app.clientId, client_secret: app.secret, ...fields })
  const exchange = (subject_token: string, more: Readonly<Record<string, string>> = {}) =>
    post('/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token,
      subject_token_type: type,
      ...more,
    })
  const tokenOf = async (user: UserRow) => {
    const { grant } = await issueGrant(site, app, user)
    return { grant, token: await accessTokenOf(site, app, user, grant) }
  }
  const isActive = async (token: string): Promise<boolean> =>
    (await post('/introspect', { token })).body.active

  it('ends with the grant of the user who acts, also where it was exchanged again', async () => {
    const { token: subject } = await tokenOf(alice)
    const { token: actor, grant } = await tokenOf(bob)
    const byBob = { actor_token: actor, actor_token_type: type }
    const delegated = (await exchange(subject, byBob)).body.access_token
    expect(claimsOf(delegated)).toMatchObject({ sub: alice.id, act: { sub: bob.id } })
    const again = (await exchange(delegated)).body.access_token
    expect(await Promise.all([delegated, again].map(isActive))).toEqual([true, true])
    const {
      storage,
      tokens: { grantsStore },
    } = site.server.areas
    await storage.commit(grantsStore.revoke(grant.id))
    expect(await Promise.all([delegated, again, subject].map(isActive))).toEqual([
      false,
      false,
      true,
    ])
  })

  it('ends when the user who acts is disabled', async () => {
    const { token: subject } = await tokenOf(alice)
    const { token: actor } = await tokenOf(bob)
    const { body } = await exchange(subject, { actor_token: actor, actor_token_type: type })
    expect(await isActive(body.access_token)).toBe(true)
    const path = `/users/${bob.id}`
    const user = (await site.admin('GET', path)).body
    await site.admin('PUT', path, { ...user, enabled: false })
    expect(await isActive(body.access_token)).toBe(false)
    expect(await isActive(subject)).toBe(true)
  })

  it('is not for userinfo where the one before was not', async () => {
    const { refreshToken } = await issueGrant(site, app, alice)
    const { body: narrowed } = await post('/token', {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      resource: 'https://api.example/',
    })
    const userinfo = async (token: string) =>
      (await site.get('/userinfo', { authorization: `Bearer ${token}` })).status
    expect(await userinfo(narrowed.access_token)).toBe(401)
    const { body } = await exchange(narrowed.access_token)
    expect(claimsOf(body.access_token)['scope']).toBeUndefined()
    expect(await userinfo(body.access_token)).toBe(403)
    const wider = await exchange(narrowed.access_token, { scope: 'openid' })
    expect([wider.status, wider.body.error]).toEqual([400, 'invalid_scope'])
  })
})
