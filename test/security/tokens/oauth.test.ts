/**
 * Advisories about token endpoints of other products: forged and misdirected tokens, parameter pollution, CORS, failing
 * storage.
 */

import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  sign,
} from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic, claimsOf, type TestClient } from '../../oidc/fixture.ts'
import { authorizeUrl, change, codeOf, newVerifier, redirectUri } from '../../oidc/relying-party.ts'
import { issuerOf } from '../../oidc/users.ts'
import { backends } from '../../support/backends.ts'
import { openWorld, urns, type World } from './grants-in-flight.ts'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const headerOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())

describe.each(backends)('the OAuth endpoints on $name', (backend) => {
  let world: World
  let other: TestClient
  beforeAll(async () => {
    world = await openWorld(backend)
    other = await world.site.client({
      clientId: 'other',
      grantTypes: ['authorization_code', 'refresh_token', 'token-exchange'],
      redirectUris: [redirectUri],
      webOrigins: ['https://other.example'],
    })
  }, 60_000)
  afterAll(() => world.site.close())

  /** Where a token of ours is believed, and whether this one is. */
  const places: Record<string, (token: string) => Promise<boolean>> = {
    userinfo: async (token) =>
      (await world.site.get('/userinfo', { authorization: `Bearer ${token}` })).status === 200,
    introspection: async (token) =>
      (await world.site.post('/introspect', { ...world.as(world.every), token })).body.active,
    exchange: async (token) =>
      (
        await world.redeem({
          grant_type: urns.exchange,
          subject_token: token,
          subject_token_type: urns.accessToken,
        })
      ).status === 200,
    'admin API': async (token) => {
      const { status } = await world.site.server.anonymous.send(
        'GET',
        '/admin/realms/acme/users',
        undefined,
        { authorization: `Bearer ${token}` },
      )
      return status !== 401
    },
  }
  const believers = async (token: string): Promise<string[]> => {
    const found: string[] = []
    for (const [name, believes] of Object.entries(places))
      if (await believes(token)) found.push(name)
    return found
  }
  /** Where an id token is believed. */
  const isHint = async (token: string): Promise<boolean> => {
    const query = new URLSearchParams({ id_token_hint: token })
    return (await world.site.get(`/logout?${query}`)).status === 200
  }

  /** By the key that the realm signs with: nothing is wrong with such a token but what its header says. */
  const byTheRealm = async (header: object, payload: string): Promise<string> => {
    const {
      keys: { realmKeys },
    } = world.site.server.areas
    const { view } = await issuerOf(world.site)
    const input = `${encode(header)}.${payload}`
    return `${input}.${await (await realmKeys.of(view)).signerFor(world.every).sign('RS256', input)}`
  }

  const forgeries = async (token: string): Promise<Record<string, string>> => {
    const [, payload = '', signature = ''] = token.split('.')
    const header = headerOf(token)
    expect(header['alg']).toBe('RS256')
    const { keys } = (await world.site.get('/.well-known/jwks.json')).body
    const jwk: JsonWebKey = keys.find(({ kid }: { kid: string }) => kid === header['kid'])
    const published = createPublicKey({ key: jwk, format: 'jwk' })
    const mine = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const own = mine.publicKey.export({ format: 'jwk' })
    const bySecret = (key: Buffer | string): string => {
      const input = `${encode({ ...header, alg: 'HS256' })}.${payload}`
      return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
    }
    const byMe = (more: object): string => {
      const input = `${encode({ ...header, ...more })}.${payload}`
      return `${input}.${sign('sha256', Buffer.from(input), mine.privateKey).toString('base64url')}`
    }
    const der = published.export({ type: 'spki', format: 'der' })
    return {
      'alg none': `${encode({ ...header, alg: 'none' })}.${payload}.`,
      'alg NonE': `${encode({ ...header, alg: 'NonE' })}.${payload}.`,
      'alg none, signature kept': `${encode({ ...header, alg: 'none' })}.${payload}.${signature}`,
      'no signature': token.slice(0, token.lastIndexOf('.') + 1),
      'HS256 by the public key, PEM': bySecret(published.export({ type: 'spki', format: 'pem' })),
      'HS256 by the public key, DER': bySecret(der),
      'HS256 by the public key, JWK': bySecret(JSON.stringify(jwk)),
      'HS256 by the modulus': bySecret(Buffer.from(String(jwk.n), 'base64url')),
      'HS256 by nothing': bySecret(''),
      'my key under its kid': byMe({}),
      'my key in jwk': byMe({ jwk: own }),
      'my key in jwk, with a kid of its own': byMe({ jwk: { ...own, kid: 'mine' }, kid: 'mine' }),
      'my key at jku': byMe({ jku: 'http://127.0.0.1:1/jwks', kid: 'mine' }),
      'my key at x5u': byMe({ x5u: 'http://127.0.0.1:1/cert', kid: 'mine' }),
      'my key in x5c': byMe({ x5c: [Buffer.from(der).toString('base64')], kid: 'mine' }),
      'a kid that is a path': byMe({ kid: '../../../../dev/null' }),
      'a kid that is SQL': byMe({ kid: "' union select 'x' --" }),
      'no kid': byMe({ kid: undefined }),
      'PS256 said, RS256 signed': `${encode({ ...header, alg: 'PS256' })}.${payload}.${signature}`,
      'another subject': `${token.split('.')[0]}.${encode({ ...claimsOf(token), sub: 'admin' })}.${signature}`,
      'critical extensions': await byTheRealm({ ...header, crit: ['b64'], b64: false }, payload),
    }
  }

  it('believe no access token that the realm did not sign, in no place (CVE-2026-11800)', async () => {
    const { site, every } = world
    const pipeline = await site.client({
      clientId: 'pipeline',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      audiences: [`${site.server.baseUrl}/admin`, every.clientId],
    })
    const { access_token } = await world.tokens()
    const ofService = await site.token(pipeline)
    expect(await byTheRealm(headerOf(ofService), ofService.split('.')[1] ?? '')).toBe(ofService)
    expect(await believers(access_token)).toEqual(['userinfo', 'introspection', 'exchange'])
    expect(await believers(ofService)).toEqual(['introspection', 'exchange', 'admin API'])
    for (const token of [access_token, ofService])
      for (const [name, forged] of Object.entries(await forgeries(token)))
        expect([name, await believers(forged)]).toEqual([name, []])
  })

  it('believe no id token that the realm did not sign', async () => {
    const { id_token } = await world.tokens()
    expect(await isHint(id_token)).toBe(true)
    for (const [name, forged] of Object.entries(await forgeries(id_token)))
      expect([name, await isHint(forged)]).toEqual([name, false])
  })

  it('take no token for what it is not: another kind, audience, client or realm (CVE-2024-47077)', async () => {
    const { site, every } = world
    const { access_token, id_token, refresh_token } = await world.tokens()
    expect(await believers(id_token)).toEqual([])
    expect(await believers(refresh_token)).not.toContain('userinfo')
    expect(await isHint(access_token)).toBe(false)
    await change(site, `/clients/${every.id}`, { audiences: ['https://api.example'] })
    const narrowed = (await world.tokens()).access_token
    await change(site, `/clients/${every.id}`, { audiences: [] })
    expect([claimsOf(narrowed)['aud']].flat()).toContain('https://api.example')
    expect(await places['admin API']?.(narrowed)).toBe(false)
    const asOther = await site.post('/introspect', { ...world.as(other), token: access_token })
    expect(asOther.body).toEqual({ active: false })
    const taken = await world.redeem(
      {
        grant_type: urns.exchange,
        subject_token: access_token,
        subject_token_type: urns.accessToken,
      },
      other,
    )
    expect(taken.status).toBe(400)
    await site.server.createRealm('neighbour')
    for (const path of ['userinfo', 'logout?id_token_hint=']) {
      const url = `${site.server.baseUrl}/realms/neighbour/${path}`
      const answer = await fetch(path.endsWith('=') ? `${url}${id_token}` : url, {
        headers: { authorization: `Bearer ${access_token}` },
      })
      expect(answer.status).toBeGreaterThanOrEqual(400)
    }
  })

  it('give nothing for a code that was caught on its way (code injection)', async () => {
    const { site, every, alice } = world
    const { verifier, challenge } = newVerifier()
    const asked = { code_challenge: challenge, code_challenge_method: 'S256' }
    const code = codeOf(await alice.signIn(authorizeUrl(site, every, asked)))
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
    const proven = { ...fields, code_verifier: verifier }
    const attempts = [
      world.redeem(fields),
      world.redeem({ ...fields, code_verifier: newVerifier().verifier }),
      world.redeem({ ...fields, code_verifier: challenge }),
      world.redeem(proven, other),
      world.redeem({ ...proven, redirect_uri: `${redirectUri}/` }),
      world.redeem({ ...proven, code: `${code}A` }),
      world.redeem({ ...proven, code: code.toLowerCase() }),
    ]
    for (const { status, body } of await Promise.all(attempts))
      expect([status, body.error]).toEqual([400, 'invalid_grant'])
    const { status, body } = await world.redeem(proven)
    expect([status, claimsOf(body.id_token)['sub']]).toEqual([200, world.aliceId])
  })

  const posts: Record<string, () => Record<string, string>> = {
    '/token': () => ({ grant_type: 'client_credentials' }),
    '/introspect': () => ({ token: 'x' }),
    '/revoke': () => ({ token: 'x' }),
    '/par': () => ({ response_type: 'code', redirect_uri: redirectUri, scope: 'openid' }),
    '/device': () => ({ scope: 'openid' }),
    '/backchannel-authentication': () => ({ scope: 'openid', login_hint: 'alice' }),
  }

  it('refuse every parameter that stands twice, at every endpoint (parameter pollution)', async () => {
    for (const [path, fieldsOf] of Object.entries(posts)) {
      const fields = { ...world.as(world.every), ...fieldsOf() }
      expect((await world.site.post(path, fields)).status, path).toBeLessThan(300)
      for (const name of [...Object.keys(fields), 'never_heard_of']) {
        const twice = new URLSearchParams({ [name]: 'x', ...fields })
        twice.append(name, 'x')
        const { status, body } = await world.site.post(path, twice.toString())
        expect([path, name, status, body.error]).toEqual([path, name, 400, 'invalid_request'])
      }
    }
  })

  it('read nothing from the address, and no body but a form', async () => {
    const { issuer } = world.site
    for (const [path, fieldsOf] of Object.entries(posts)) {
      const fields = { ...world.as(world.every), ...fieldsOf() }
      const query = new URLSearchParams(fields)
      const empty = { 'content-type': 'application/x-www-form-urlencoded' }
      const requests: RequestInit[] = [
        { body: '', headers: empty },
        { body: JSON.stringify(fields), headers: { 'content-type': 'application/json' } },
        { body: query.toString(), headers: { 'content-type': 'text/plain' } },
      ]
      for (const request of requests) {
        const { status } = await fetch(`${issuer}${path}?${query}`, { method: 'POST', ...request })
        expect([path, status >= 400 && status < 500]).toEqual([path, true])
      }
    }
  })

  it('let one way of authentication speak for a client, and believe no header of a proxy (CVE-2024-10039)', async () => {
    const { every } = world
    const grant = { grant_type: 'client_credentials' }
    const header = basic(every.clientId, every.secret)
    const send = (fields: Record<string, string>, headers = {}) =>
      world.site.post('/token', { ...grant, ...fields }, headers)
    expect((await send({}, header)).status).toBe(200)
    const refused = [
      await send(world.as(every), header),
      await send(world.as(other), header),
      await send({ client_id: other.clientId }, header),
      await send({ client_id: every.clientId }),
      await send({ client_id: every.clientId, client_secret: '' }),
    ]
    const certificate = encodeURIComponent('-----BEGIN CERTIFICATE-----')
    for (const name of [
      'x-client-cert',
      'ssl-client-cert',
      'x-ssl-cert',
      'x-forwarded-client-cert',
    ])
      refused.push(await send({ client_id: every.clientId }, { [name]: certificate }))
    for (const { status } of refused) expect([400, 401]).toContain(status)
  })

  it('let no page read an answer but those of the client, whatever it says it is (CVE-2026-37977)', async () => {
    const { site, every } = world
    const { access_token } = await world.tokens()
    const unsigned = `${encode({ alg: 'none' })}.${encode({ azp: 'other', client_id: 'other' })}.`
    const origins = [
      'https://evil.example',
      'https://app.example.evil.example',
      'https://evil-app.example',
      'https://APP.example',
      'https://app.example:443',
      'https://app.example/',
      'http://app.example',
      'https://other.example',
      'null',
      '*',
    ]
    const allowed = (headers: Headers): string | null => headers.get('access-control-allow-origin')
    const answers = async (origin: string, paths = Object.keys(posts)) => [
      ...(await Promise.all(
        paths.map((path) =>
          site.post(path, { ...world.as(every), ...posts[path]?.() }, { origin }),
        ),
      )),
      await site.get('/userinfo', { origin, authorization: `Bearer ${access_token}` }),
    ]
    for (const origin of origins) {
      for (const { headers } of await answers(origin))
        expect([origin, allowed(headers)]).toEqual([origin, null])
      const claimed = await site.get('/userinfo', { origin, authorization: `Bearer ${unsigned}` })
      expect([origin, allowed(claimed.headers)]).toEqual([origin, null])
    }
    // Introspection and CIBA are for clients with a secret, which no page has.
    const forPages = ['/token', '/revoke', '/par', '/device']
    for (const { headers } of await answers('https://app.example', forPages)) {
      expect(allowed(headers)).toBe('https://app.example')
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('vary')).toContain('Origin')
    }
  })

  it('say no to what cannot be written or looked up (GHSA-7mqr-2v3q-v2wm, GHSA-v3q9-2p3m-7g43)', async () => {
    const { site, every } = world
    const { storage } = site.server.areas
    const rename = (from: string, to: string) =>
      storage.commit([{ sql: `alter table ${from} rename to ${to}`, parameters: [] }])
    const { access_token, refresh_token } = await world.tokens()
    const flows = await world.inFlight()
    const without = async (table: string, requests: () => Promise<readonly number[]>) => {
      await rename(table, 'gone')
      const statuses = await requests().finally(() => rename('gone', table))
      for (const status of statuses) expect([table, status]).toEqual([table, 500])
    }
    const post = async (path: string, fields: Record<string, string>): Promise<number> =>
      (await site.post(path, { ...world.as(every), ...fields })).status
    await without('revoked_tokens', async () => [
      await post('/revoke', { token: access_token }),
      await post('/introspect', { token: access_token }),
      (await site.get('/userinfo', { authorization: `Bearer ${access_token}` })).status,
    ])
    await without('refresh_tokens', async () => [
      await post('/revoke', { token: refresh_token }),
      await post('/token', flows['refresh_token'] ?? {}),
    ])
    const key = await generateKeyPair('ES256', { extractable: true })
    await site.client({
      clientId: 'signer',
      grantTypes: ['client_credentials'],
      tokenEndpointAuthMethod: 'private_key_jwt',
      jwks: { keys: [{ ...(await exportJWK(key.publicKey)), kid: 'one', alg: 'ES256' }] },
    })
    const assertion = await new SignJWT({ jti: 'once' })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer('signer')
      .setSubject('signer')
      .setAudience(site.issuer)
      .setExpirationTime('1m')
      .sign(key.privateKey)
    const signed = async (): Promise<number> => {
      const { status } = await site.post('/token', {
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      })
      return status
    }
    await without('replay_guards', async () => [await signed()])
    expect([await signed(), await signed()]).toEqual([200, 401])
    await without('authorization_codes', async () => [
      await post('/token', flows['authorization_code'] ?? {}),
    ])
    for (const name of ['authorization_code', 'refresh_token'])
      expect([name, await post('/token', flows[name] ?? {})]).toEqual([name, 200])
    expect(await places['introspection']?.(access_token)).toBe(true)
  })
})
