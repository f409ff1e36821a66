/** Introspection (RFC 7662) and revocation (RFC 7009) of tokens that no user is behind. */

import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { insertRows } from '#server/storage/statements.ts'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { accessTokenOf, addUser, issueGrant } from '../users.ts'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

describe.each(backends)('introspection and revocation on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let service: TestClient
  let api: TestClient
  let stranger: TestClient

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    const grantTypes = ['client_credentials'] as const
    service = await site.client({
      clientId: 'service',
      grantTypes: [...grantTypes],
      audiences: ['api'],
    })
    api = await site.client({ clientId: 'api', grantTypes: [...grantTypes] })
    stranger = await site.client({ clientId: 'stranger', grantTypes: [...grantTypes] })
  })
  afterAll(() => site.close())

  const as = ({ clientId, secret }: TestClient, token: string) => ({
    token,
    client_id: clientId,
    client_secret: secret,
  })
  const isActive = async (client: TestClient, token: string): Promise<boolean> =>
    (await site.post('/introspect', as(client, token))).body.active

  it('tells the audience and the holder what a token says', async () => {
    const token = await site.token(service)
    for (const client of [service, api])
      expect((await site.post('/introspect', as(client, token))).body).toMatchObject({
        active: true,
        token_type: 'Bearer',
        client_id: 'service',
        aud: 'api',
        sub: service.id,
        iss: site.issuer,
      })
  })

  it('names the user, unless the client knows users by pairwise subjects (OIDC Core §8)', async () => {
    const user = await addUser(site, { username: 'ann' })
    const pairwise = await site.client({
      clientId: 'pairwise',
      audiences: ['api'],
      subjectClaim: 'pairwise',
    })
    const told = async (client: TestClient, token: string) =>
      (await site.post('/introspect', as(client, token))).body
    for (const client of [service, pairwise]) {
      const { grant, refreshToken } = await issueGrant(site, client, user)
      const token = await accessTokenOf(site, client, user, grant)
      const username = client === service ? 'ann' : undefined
      for (const body of [await told(client, token), await told(api, token)])
        expect([body.active, body.username]).toEqual([true, username])
      const refresh = await told(client, refreshToken)
      expect([refresh.active, refresh.username]).toEqual([true, username])
    }
  })

  it('tells a client that the token is not for nothing but that (CVE-2026-37979)', async () => {
    const { status, body } = await site.post('/introspect', as(stranger, await site.token(service)))
    expect([status, body]).toEqual([200, { active: false }])
    const [event] = await site.events('INTROSPECT_TOKEN')
    expect(event).toMatchObject({
      outcome: 'FAILURE',
      actor: stranger.id,
      resourceId: service.id,
    })
  })

  it('wants a client that authenticates', async () => {
    await site.client({ clientId: 'page', publicClient: true, tokenEndpointAuthMethod: 'none' })
    const token = await site.token(service)
    for (const fields of [{ token }, { token, client_id: 'page' }]) {
      const { status, body } = await site.post('/introspect', fields)
      expect([status, body.error]).toEqual([401, 'invalid_client'])
    }
    const { status } = await site.post('/introspect', { ...as(api, ''), token: '' })
    expect(status).toBe(400)
  })

  it('knows nothing of tokens that expired', async () => {
    const token = await site.token(service)
    now += 301_000
    expect(await isActive(api, token)).toBe(false)
  })

  it('believes no signature but those of the realm (CVE-2026-11800)', async () => {
    const token = await site.token(service)
    const [head = '', body = '', signature = ''] = token.split('.')
    const header = JSON.parse(Buffer.from(head, 'base64url').toString())
    const { body: keys } = await site.admin('GET', '/keys')
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const jwk = publicKey.export({ format: 'jwk' })
    const foreign = (more: object): string => {
      const input = `${encode({ ...header, ...more })}.${body}`
      return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`
    }
    const hmac = (key: Buffer | string): string => {
      const input = `${encode({ ...header, alg: 'HS256' })}.${body}`
      return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
    }
    const forged = [
      `${encode({ ...header, alg: 'none' })}.${body}.`,
      `${encode({ ...header, alg: 'none' })}.${body}.${signature}`,
      hmac(Buffer.from(keys[0].publicKey, 'base64')),
      hmac(keys[0].publicKey),
      foreign({}),
      foreign({ jwk }),
      foreign({ jku: 'http://127.0.0.1:1/jwks', kid: 'x' }),
      foreign({ kid: '../../etc/passwd' }),
      foreign({ crit: ['b64'], b64: false }),
      `${head}.${encode({ iss: site.issuer, aud: 'api', client_id: 'service', exp: 9e9 })}.${signature}`,
      `${token}=`,
      `${token}.`,
      ` ${token}`,
      'x'.repeat(20_000),
    ]
    expect(await isActive(api, token)).toBe(true)
    for (const one of forged) expect(await isActive(api, one), one.slice(0, 200)).toBe(false)
  })

  it('does not know a token of another realm, though its client has the same name', async () => {
    await site.server.createRealm('other')
    const made = await site.server.admin.send('POST', '/admin/realms/other/clients', {
      clientId: 'service',
      grantTypes: ['client_credentials'],
    })
    const answer = await fetch(`${site.server.baseUrl}/realms/other/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'service',
        client_secret: made.body.secret,
      }),
    })
    const { access_token } = (await answer.json()) as { access_token: string }
    expect(await isActive(service, access_token)).toBe(false)
  })

  it('ends a token that its client revokes, for everybody and at once', async () => {
    const token = await site.token(service)
    const { status, headers, body } = await site.post('/revoke', as(service, token))
    // simple-oauth2 and @fastify/oauth2 throw where the answer is no JSON, and then leave the refresh token as it is.
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect([status, body]).toEqual([200, {}])
    expect(await isActive(api, token)).toBe(false)
    expect((await site.events('REVOKE_GRANT'))[0]).toMatchObject({
      outcome: 'SUCCESS',
      actor: service.id,
      detail: 'access_token',
    })
    expect((await site.post('/revoke', as(service, token))).status).toBe(200)
  })

  it('ends no token of another client (RFC 7009 §2.1)', async () => {
    const token = await site.token(service)
    const { status, body } = await site.post('/revoke', as(api, token))
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(await isActive(api, token)).toBe(true)
  })

  it('takes what is no token for revoked already (RFC 7009 §2.2)', async () => {
    for (const token of ['nonsense', 'a.b.c'])
      expect((await site.post('/revoke', as(service, token))).status).toBe(200)
  })

  it('refuses what was issued before the realm or the client said so', async () => {
    const realm = 'acme'
    for (const [subject_kind, subject_id] of [
      ['client', service.id],
      ['realm', realm],
    ] as const) {
      const token = await site.token(service)
      expect(await isActive(api, token)).toBe(true)
      now += 1000
      const row = { realm, subject_kind, subject_id, at: now }
      const { storage } = site.server.areas
      await storage.commit(insertRows(storage.db, 'not_before', [row]))
      expect(await isActive(api, token)).toBe(false)
      now += 1000
      expect(await isActive(api, await site.token(service))).toBe(true)
    }
  })

  it('works with openid-client', async () => {
    const config = await openid.discovery(
      new URL(site.issuer),
      service.clientId,
      undefined,
      openid.ClientSecretBasic(service.secret),
      { execute: [openid.allowInsecureRequests] },
    )
    const { access_token } = await openid.clientCredentialsGrant(config)
    expect(await openid.tokenIntrospection(config, access_token)).toMatchObject({ active: true })
    await openid.tokenRevocation(config, access_token)
    expect(await openid.tokenIntrospection(config, access_token)).toEqual({ active: false })
  })
})
