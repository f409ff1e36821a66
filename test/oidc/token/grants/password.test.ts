/** The password grant (RFC 6749 §4.3): only for clients that list it, and with the lock-out of all password checks. */

import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { backends } from '../../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type Reply, type TestClient } from '../../fixture.ts'
import { addPerson, password } from '../../relying-party.ts'

describe.each(backends)('the password grant on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let old: TestClient
  let alice: string
  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    old = await site.client({
      clientId: 'old',
      grantTypes: ['password', 'refresh_token'],
      scopes: ['email'],
    })
    alice = await addPerson(site, 'alice')
  })
  afterAll(() => site.close())

  const ask = (
    username: string,
    fields: Record<string, string> = {},
    { clientId, secret }: TestClient = old,
  ): Promise<Reply> =>
    site.post('/token', {
      grant_type: 'password',
      client_id: clientId,
      client_secret: secret,
      username,
      password,
      ...fields,
    })
  const told = ({ status, body }: Reply) => [status, body]
  const logins = async (outcome: string): Promise<number> => {
    const { body } = await site.admin('GET', `/events?type=LOGIN_${outcome}&size=200`)
    return body.items.length
  }
  const change = async (fields: object): Promise<void> => {
    const { body } = await site.admin('GET', `/users/${alice}`)
    await site.admin('PUT', `/users/${alice}`, { ...body, ...fields })
  }

  it('gives tokens for a name and a password, and counts as a sign-in', async () => {
    const before = await logins('SUCCESS')
    const { status, body } = await ask('alice', { scope: 'openid email' })
    expect(status).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject({
      sub: alice,
      client_id: 'old',
      scope: 'openid email',
      acr: '1',
    })
    expect(claimsOf(body.id_token)).toMatchObject({ sub: alice, aud: 'old', amr: ['pwd'] })
    expect(await logins('SUCCESS')).toBe(before + 1)
    const again = await site.post('/token', {
      grant_type: 'refresh_token',
      refresh_token: body.refresh_token,
      client_id: old.clientId,
      client_secret: old.secret,
    })
    expect(again.status).toBe(200)
  })

  it('works with openid-client, from the discovery to userinfo and a refresh', async () => {
    const config = await openid.discovery(
      new URL(site.issuer),
      old.clientId,
      undefined,
      openid.ClientSecretPost(old.secret),
      { execute: [openid.allowInsecureRequests] },
    )
    const tokens = await openid.genericGrantRequest(config, 'password', {
      username: 'alice',
      password,
      scope: 'openid email',
    })
    expect(await openid.fetchUserInfo(config, tokens.access_token, alice)).toMatchObject({
      sub: alice,
    })
    const again = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(claimsOf(again.access_token)).toMatchObject({ sub: alice })
  })

  it('is for clients that list it, and not where consent is needed (CVE-2026-9792)', async () => {
    const modern = await site.client({ clientId: 'modern', grantTypes: ['refresh_token'] })
    const asking = await site.client({
      clientId: 'asking',
      grantTypes: ['password'],
      consentRequired: true,
    })
    for (const client of [modern, asking]) {
      const { status, body } = await ask('alice', {}, client)
      expect([status, body.error]).toEqual([400, 'unauthorized_client'])
    }
    const { body } = await ask('alice', { scope: 'openid profile' })
    expect(body.error).toBe('invalid_scope')
  })

  it('tells the same whatever is wrong, and records why', async () => {
    const wrong = told(await ask('alice', { password: 'wrong' }))
    expect(wrong).toEqual([400, expect.objectContaining({ error: 'invalid_grant' })])
    expect(told(await ask('nobody'))).toEqual(wrong)
    await change({ enabled: false })
    expect(told(await ask('alice'))).toEqual(wrong)
    await change({ enabled: true, requiredActions: ['UPDATE_PASSWORD'] })
    expect(told(await ask('alice'))).toEqual(wrong)
    await change({ requiredActions: [] })
    expect((await ask('alice')).status).toBe(200)
    const details = (await site.events('LOGIN_FAILURE')).map(({ detail }) => detail)
    expect(details).toEqual(
      expect.arrayContaining([
        'wrong-password',
        'unknown-user',
        'user-disabled',
        'required-actions',
      ]),
    )
    expect((await ask('alice', { password: '' })).body.error).toBe('invalid_request')
  })

  it('feeds the counters of the sign-in page (CVE-2026-9798)', async () => {
    await site.admin('PUT', '/settings', { bruteForceProtected: true, failureFactor: 3 })
    const bob = await addPerson(site, 'bob')
    for (let i = 0; i < 3; i += 1)
      expect((await ask('bob', { password: 'wrong' })).body.error).toBe('invalid_grant')
    expect((await ask('bob')).body.error).toBe('invalid_grant')
    const user = (await site.admin('GET', `/users/${bob}`)).body
    expect(user.locked).toBe(true)
  })

  it('ends at once when the user is disabled', async () => {
    await site.admin('PUT', '/settings', { bruteForceProtected: false })
    now += 3_600_000
    const { body } = await ask('alice', { scope: 'openid' })
    const info = () => site.get('/userinfo', { authorization: `Bearer ${body.access_token}` })
    expect((await info()).status).toBe(200)
    await change({ enabled: false })
    expect((await info()).status).toBe(401)
    await change({ enabled: true })
    expect((await info()).status).toBe(401)
  })

  it('is no way around a second factor, and the client does not learn of it', async () => {
    const carol = await addPerson(site, 'carol')
    expect((await ask('carol')).status).toBe(200)
    await site.admin('POST', `/users/${carol}/credentials`, { type: 'otp' })
    const [right, wrong] = [
      await ask('carol'),
      await ask('carol', { password: 'something else 1' }),
    ]
    expect(told(right)).toEqual(told(wrong))
    expect([right.status, right.body.error]).toEqual([400, 'invalid_grant'])
    const details = (await site.events('LOGIN_FAILURE')).map(({ detail }) => detail)
    expect(details).toContain('second-factor')
  })
})
