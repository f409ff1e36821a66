/** Userinfo (OIDC Core §5.3) and how it asks for tokens (RFC 6750, RFC 9728). */

import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { change } from '../relying-party.ts'
import { accessTokenOf, addUser, type IssuedGrant, issueGrant, openSession } from '../users.ts'

describe.each(backends)('userinfo on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let web: TestClient
  let api: TestClient
  let ann: UserRow
  let grant: IssuedGrant['grant']

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    web = await site.client({
      clientId: 'web',
      grantTypes: ['refresh_token', 'client_credentials'],
      scopes: ['profile', 'email'],
      audiences: ['api'],
      webOrigins: ['https://app.example'],
    })
    await site.admin('PUT', `/clients/${web.id}/allowed-resources`, ['https://api.example/'])
    api = await site.client({
      clientId: 'api',
      grantTypes: ['refresh_token'],
      userinfoSignedResponseAlg: 'PS256',
    })
    ann = await addUser(site, {
      username: 'ann',
      email: 'ann@acme.example',
      firstName: 'Ann',
      lastName: 'Lee',
    })
    const issued = await issueGrant(site, web, ann, {
      scope: ['openid', 'profile', 'email'],
      data: { userinfoClaims: ['family_name'] },
    })
    grant = issued.grant
  })
  afterAll(() => site.close())

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const tokenOf = (...scope: string[]) => accessTokenOf(site, web, ann, grant, scope)
  const ask = (token: string, headers: Record<string, string> = {}) =>
    site.get('/userinfo', { ...bearer(token), ...headers })
  const metadata = () => `resource_metadata="${site.issuer}/.well-known/oauth-protected-resource"`

  it('tells what the scopes allow, by GET and by POST, header or form', async () => {
    const token = await tokenOf('openid', 'email')
    const claims = { sub: ann.id, email: 'ann@acme.example', email_verified: false }
    const answers = [
      await ask(token),
      await site.post('/userinfo', {}, bearer(token)),
      await site.post('/userinfo', { access_token: token }),
    ]
    for (const { status, body, headers } of answers) {
      expect(status).toBe(200)
      expect(body).toMatchObject(claims)
      expect(body).not.toHaveProperty('given_name')
      expect(headers.get('cache-control')).toBe('no-store')
    }
  })

  it('repeats x-fapi-interaction-id, and nothing that is no UUID (FAPI 1.0 Baseline §6.2.1-11)', async () => {
    const header = 'x-fapi-interaction-id'
    const id = 'c4405450-febe-11e8-80a5-0fcebb157400'
    const token = await tokenOf('openid')
    const answerTo = async (value: string | undefined, by = token) =>
      (await ask(by, value === undefined ? {} : { [header]: value })).headers.get(header)
    expect([await answerTo(id), await answerTo(id, 'wrong')]).toEqual([id, id])
    expect([await answerTo('reflected'), await answerTo(undefined)]).toEqual([null, null])
  })

  it('needs no body where the header has the token, whatever type the nothing has (§5.3.1)', async () => {
    const token = await tokenOf('openid')
    const send = async (type: string, body: string) => {
      const headers = { ...bearer(token), 'content-type': type }
      const response = await fetch(`${site.issuer}/userinfo`, { method: 'POST', headers, body })
      const { error } = (await response.json()) as { error?: string }
      return [response.status, error]
    }
    expect(await send('application/json', '')).toEqual([200, undefined])
    expect(await send('text/plain', '')).toEqual([200, undefined])
    expect(await send('application/json', '{}')).toEqual([400, 'invalid_request'])
  })

  it('tells claims that were asked for one by one, and what mappers add', async () => {
    await site.admin('POST', `/clients/${web.id}/mappers`, {
      name: 'team',
      protocolMapper: 'oidc-hardcoded-claim-mapper',
      config: { 'claim.name': 'team', 'claim.value': 'blue' },
    })
    const { body } = await ask(await tokenOf('openid'))
    expect(body).toMatchObject({ sub: ann.id, family_name: 'Lee', team: 'blue' })
    expect(body).not.toHaveProperty('email')
  })

  it('tells at once what has changed: of the user, of the client, of what its mappers say', async () => {
    const token = await tokenOf('openid', 'profile', 'email')
    const told = async () => (await ask(token)).body
    const before = await told()
    expect(await told()).toEqual(before)
    await site.admin('PUT', `/users/${ann.id}`, {
      username: 'ann',
      email: 'ann@acme.example',
      firstName: 'Anna',
      lastName: 'Lee',
    })
    expect(await told()).toMatchObject({ given_name: 'Anna', family_name: 'Lee' })
    await site.admin('POST', `/clients/${web.id}/mappers`, {
      name: 'floor',
      protocolMapper: 'oidc-hardcoded-claim-mapper',
      config: { 'claim.name': 'floor', 'claim.value': 'third' },
    })
    expect(await told()).toMatchObject({ given_name: 'Anna', floor: 'third' })
  })

  it('takes a token in one way only, and never from the address', async () => {
    const token = await tokenOf('openid')
    const twice = await site.post('/userinfo', { access_token: token }, bearer(token))
    expect([twice.status, twice.body.error]).toEqual([400, 'invalid_request'])
    const inAddress = await site.get(`/userinfo?access_token=${token}`)
    expect(inAddress.status).toBe(401)
  })

  it('asks for a token and says where to get one (RFC 9728)', async () => {
    const nothing = await site.get('/userinfo')
    expect(nothing.status).toBe(401)
    expect(nothing.headers.get('www-authenticate')).toBe(`Bearer realm="acme", ${metadata()}`)
    for (const value of ['Bearer', 'Bearer a b', 'Bearer Bearer x', `Bearer ${'a'.repeat(9000)}`]) {
      const { status, headers } = await site.get('/userinfo', { authorization: value })
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toContain('error="invalid_token"')
      expect(headers.get('www-authenticate')).toContain(metadata())
    }
    const where = await site.get('/.well-known/oauth-protected-resource')
    expect(where.body).toMatchObject({
      resource: site.issuer,
      authorization_servers: [site.issuer],
      jwks_uri: `${site.issuer}/.well-known/jwks.json`,
      bearer_methods_supported: ['header'],
    })
    const byHost = await fetch(
      `${site.server.baseUrl}/.well-known/oauth-protected-resource/realms/acme`,
    )
    expect(await byHost.json()).toEqual(where.body)
  })

  it('wants the scope openid', async () => {
    const { status, headers, body } = await ask(await tokenOf('email'))
    // Without openid the token is for the audiences of the client alone.
    expect([status, body.error]).toEqual([401, 'invalid_token'])
    const plain = await site.client({ clientId: 'plain', scopes: ['email'] })
    const issued = await issueGrant(site, plain, ann, { scope: ['email'] })
    const token = await accessTokenOf(site, plain, ann, issued.grant, ['email'])
    const refused = await ask(token)
    expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope'])
    expect(refused.headers.get('www-authenticate')).toContain('scope="openid"')
    expect(headers.get('www-authenticate')).toContain(metadata())
  })

  it('refuses tokens for another audience, of no user, of another realm, and id tokens', async () => {
    const { refreshToken } = await issueGrant(site, web, ann, {
      scope: ['openid'],
      data: { resources: ['https://api.example/'] },
    })
    const { body } = await site.post('/token', {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: web.clientId,
      client_secret: web.secret,
    })
    expect((await ask(body.access_token)).status).toBe(401)
    expect((await ask(body.id_token)).status).toBe(401)
    expect((await ask(await site.token(web, { scope: 'openid' }))).status).toBe(401)
    const elsewhere = await fetch(`${site.server.baseUrl}/realms/master/userinfo`, {
      headers: bearer(await tokenOf('openid')),
    })
    expect(elsewhere.status).toBe(401)
  })

  it('refuses at once when the grant, the session or the user is gone', async () => {
    const { areas } = site.server
    const { db } = areas.storage
    const bob = await addUser(site, { username: 'bob' })
    const { session } = await openSession(site, bob)
    const bound = await issueGrant(site, web, bob, { sid: session.sid })
    const token = await accessTokenOf(site, web, bob, bound.grant)
    expect((await ask(token)).status).toBe(200)
    await areas.storage.commit(areas.sessions.revokeStatements('acme', session.sid))
    expect((await ask(token)).status).toBe(401)

    const free = await issueGrant(site, web, bob)
    const other = await accessTokenOf(site, web, bob, free.grant)
    expect((await ask(other)).status).toBe(200)
    await areas.storage.commit([
      statement(db.updateTable('users').set({ enabled: 0 }).where('id', '=', bob.id)),
    ])
    expect((await ask(other)).status).toBe(401)
  })

  it('answers a JWT to a client that is registered for it', async () => {
    const issued = await issueGrant(site, api, ann)
    const token = await accessTokenOf(site, api, ann, issued.grant)
    const { status, headers, body } = await ask(token)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/jwt'])
    const { payload, protectedHeader } = await jwtVerify(
      body,
      createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`)),
      { issuer: site.issuer, audience: 'api' },
    )
    expect(protectedHeader.alg).toBe('PS256')
    expect(payload.sub).toBe(ann.id)
    const { body: told } = await site.get('/.well-known/openid-configuration')
    expect(told).toMatchObject({
      userinfo_endpoint: `${site.issuer}/userinfo`,
      userinfo_signing_alg_values_supported: ['RS256', 'PS256'],
    })
  })

  it('lets a page read that its token is not good any more', async () => {
    const token = await tokenOf('openid')
    const { payload } = await jwtVerify(
      token,
      createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`)),
      { currentDate: new Date(now) },
    )
    const {
      storage,
      tokens: { grantsStore },
    } = site.server.areas
    await storage.commit(grantsStore.revokeToken('acme', String(payload.jti), now + 600_000))
    for (const [origin, told] of [
      ['https://app.example', 'https://app.example'],
      ['https://evil.example', null],
    ]) {
      const { status, headers } = await ask(token, { origin: origin ?? '' })
      expect([status, headers.get('access-control-allow-origin')]).toEqual([401, told])
    }
  })

  it('lets only the origins of the verified client read the answer (CVE-2026-37977)', async () => {
    const token = await tokenOf('openid')
    const allowed = 'access-control-allow-origin'
    const ours = await ask(token, { origin: 'https://app.example' })
    expect(ours.headers.get(allowed)).toBe('https://app.example')
    const theirs = await ask(token, { origin: 'https://evil.example' })
    expect(theirs.headers.get(allowed)).toBeNull()
    const [head = '', claims = ''] = token.split('.')
    for (const forged of [`${head}.${claims}.`, `${head}.${claims}.AAAA`]) {
      const refused = await ask(forged, { origin: 'https://app.example' })
      expect([refused.status, refused.headers.get(allowed)]).toEqual([401, null])
    }
    now += 301_000
    expect((await ask(token)).status).toBe(401)
  })

  it('takes no token of a user whom the client has no subject for any more (RFC 6750 §3.1)', async () => {
    const byEmail = await site.client({
      clientId: 'by-email',
      grantTypes: ['refresh_token'],
      subjectClaim: 'email',
    })
    const bea = await addUser(site, { username: 'bea', email: 'bea@acme.example' })
    const issued = await issueGrant(site, byEmail, bea, { scope: ['openid'] })
    const token = await accessTokenOf(site, byEmail, bea, issued.grant, ['openid'])
    expect((await ask(token)).body).toEqual({ sub: 'bea@acme.example' })
    await change(site, `/users/${bea.id}`, { email: null })
    const { status, headers, body } = await ask(token)
    expect([status, body.error]).toEqual([401, 'invalid_token'])
    expect(headers.get('www-authenticate')).toContain('error="invalid_token"')
  })
})
