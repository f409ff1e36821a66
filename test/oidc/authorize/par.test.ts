/** Pushed requests (RFC 9126), request objects (RFC 9101) and signed responses (JARM), with third-party relying parties. */

import {
  CompactSign,
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { backends } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  codeOf,
  exchange,
  hiddenFields,
  newPerson,
  newVerifier,
  type Person,
  redirectUri,
} from '../relying-party.ts'

const exportPublic = async ({
  publicKey,
}: GenerateKeyPairResult): Promise<Record<string, unknown>> => ({
  ...(await exportJWK(publicKey)),
})

describe.each(backends)('requests that do not travel in the open, on $name', (backend) => {
  let offset = 0
  const clock: Clock = { now: () => Date.now() + offset }
  let site: OidcSite
  let web: TestClient
  let strict: TestClient
  let alice: Person
  let keys: GenerateKeyPairResult

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    keys = await generateKeyPair('ES256', { extractable: true })
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' }
    const common = {
      grantTypes: ['authorization_code'] as 'authorization_code'[],
      redirectUris: [redirectUri],
      scopes: ['profile'],
      jwks: { keys: [jwk] },
    }
    web = await site.client({ clientId: 'web', ...common })
    strict = await site.client({ clientId: 'strict', requirePar: true, ...common })
    await addPerson(site, 'alice')
    alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, web))
  }, 60_000)
  afterAll(() => site.close())

  const discover = (): Promise<client.Configuration> =>
    client.discovery(new URL(site.issuer), 'web', web.secret, undefined, {
      execute: [client.allowInsecureRequests],
    })

  const push = (of: TestClient, fields: Record<string, string> = {}) =>
    site.post('/par', {
      client_id: of.clientId,
      client_secret: of.secret,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      state: 'pushed',
      ...fields,
    })
  const pushed = (of: TestClient, request_uri: string): string =>
    `${site.issuer}/authorize?${new URLSearchParams({ client_id: of.clientId, request_uri })}`

  const sign = (claims: JWTPayload, header = {}, { privateKey } = keys): Promise<string> =>
    new SignJWT({
      iss: 'web',
      aud: site.issuer,
      exp: Math.floor(clock.now() / 1000) + 60,
      client_id: 'web',
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      state: 'signed',
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'oauth-authz-req+jwt', ...header })
      .sign(privateKey)
  const withObject = (request: string, more: Record<string, string> = {}): string =>
    `${site.issuer}/authorize?${new URLSearchParams({ client_id: 'web', request, ...more })}`

  it('openid-client goes the whole way: discovery, PKCE, the code, the id token', async () => {
    const config = await discover()
    const verifier = client.randomPKCECodeVerifier()
    const [state, nonce] = [client.randomState(), client.randomNonce()]
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid profile',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      max_age: '3600',
    })
    const page = await newPerson(site).signIn(url.href)
    const tokens = await client.authorizationCodeGrant(config, new URL(page.away ?? ''), {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      maxAge: 3600,
      idTokenExpected: true,
    })
    expect(tokens.claims()).toMatchObject({ iss: site.issuer, aud: 'web', nonce })
  })

  it('openid-client pushes, signs its request, and reads a signed answer', async () => {
    const config = await discover()
    client.useJwtResponseMode(config)
    const verifier = client.randomPKCECodeVerifier()
    const parameters = {
      redirect_uri: redirectUri,
      scope: 'openid',
      state: 's',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      response_mode: 'jwt',
    }
    const key = { key: keys.privateKey, kid: 'one' }
    const urls = [
      await client.buildAuthorizationUrlWithPAR(config, parameters),
      await client.buildAuthorizationUrlWithJAR(config, parameters, key),
    ]
    for (const url of urls) {
      const page = await alice.open(url.href)
      expect(Object.keys(answerOf(page))).toEqual(['response'])
      const tokens = await client.authorizationCodeGrant(config, new URL(page.away ?? ''), {
        pkceCodeVerifier: verifier,
        expectedState: 's',
        idTokenExpected: true,
      })
      expect(tokens.claims()?.aud).toBe('web')
    }
  })

  it('oauth4webapi validates the answer with its issuer, and refuses that of another', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(site.issuer)
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, insecure),
    )
    expect(as.authorization_response_iss_parameter_supported).toBe(true)
    const me: oauth.Client = { client_id: 'web' }
    const auth = oauth.ClientSecretBasic(web.secret)
    const verifier = oauth.generateRandomCodeVerifier()
    const challenge = await oauth.calculatePKCECodeChallenge(verifier)
    const url = authorizeUrl(site, web, {
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const away = new URL((await alice.open(url)).away ?? '')
    const params = oauth.validateAuthResponse(as, me, away, 'a state')
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      me,
      auth,
      params,
      redirectUri,
      verifier,
      insecure,
    )
    const result = await oauth.processAuthorizationCodeResponse(as, me, response, {
      requireIdToken: true,
    })
    expect(oauth.getValidatedIdTokenClaims(result)?.iss).toBe(site.issuer)
    away.searchParams.set('iss', 'https://evil.example')
    expect(() => oauth.validateAuthResponse(as, me, away, 'a state')).toThrow(/iss/)
  })

  describe('pushed requests', () => {
    it('are named, for a minute', async () => {
      const { status, body, headers } = await push(web)
      expect(status).toBe(201)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(body).toEqual({
        request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[\w-]{43}$/),
        expires_in: 60,
      })
      expect(answerOf(await alice.open(pushed(web, body.request_uri)))['state']).toBe('pushed')
      const late = await push(web)
      offset += 61_000
      const page = await alice.open(pushed(web, late.body.request_uri))
      expect(page).toMatchObject({ status: 400 })
      expect(page.away).toBeUndefined()
    })

    it('give one code, however often they are opened', async () => {
      const { request_uri } = (await push(web)).body
      const bob = newPerson(site)
      const [first, second] = [
        await bob.open(pushed(web, request_uri)),
        await bob.open(pushed(web, request_uri)),
      ]
      expect(second.body).toContain('name="password"')
      const fields = { username: 'alice', password: 'a long enough passphrase 7' }
      codeOf(await bob.submit(first, fields))
      expect((await bob.open(pushed(web, request_uri))).status).toBe(400)
      const late = await bob.open(second.url.replace('login?authorization=', 'authorize/'))
      expect(answerOf(late)['error']).toBe('invalid_request_uri')
      const again = (await push(web)).body.request_uri
      const pages = await Promise.all(
        Array.from({ length: 10 }, () => alice.open(pushed(web, again))),
      )
      expect(pages.filter(({ away }) => away?.includes('code='))).toHaveLength(1)
    })

    it('are of the client that pushed them', async () => {
      const { request_uri } = (await push(web)).body
      expect((await alice.open(pushed(strict, request_uri))).status).toBe(400)
    })

    it('count alone: what stands beside the name does not', async () => {
      const { request_uri } = (await push(web)).body
      const page = await alice.open(`${pushed(web, request_uri)}&state=other&scope=nothing`)
      expect(answerOf(page)['state']).toBe('pushed')
    })

    it('are the only ones of a client that must push', async () => {
      const open = answerOf(await alice.open(authorizeUrl(site, strict)))
      expect(open['error']).toBe('invalid_request')
      const { body } = await push(strict)
      codeOf(await alice.open(pushed(strict, body.request_uri)))
    })

    it.each([
      ['a wrong secret', { client_secret: 'x'.repeat(40) }, 401, 'invalid_client'],
      ['a foreign redirect URI', { redirect_uri: 'https://evil.example/' }, 400, 'invalid_request'],
      ['no redirect URI', { redirect_uri: '' }, 400, 'invalid_request'],
      ['a state of 4097 characters', { state: 'x'.repeat(4097) }, 400, 'invalid_request'],
      ['a foreign scope', { scope: 'email' }, 400, 'invalid_scope'],
      ['another request_uri', { request_uri: 'urn:x' }, 400, 'invalid_request'],
      ['plain PKCE', { code_challenge: 'A'.repeat(43) }, 400, 'invalid_request'],
      ['more than is kept (RFC 9126 §2.3)', { other: 'x'.repeat(16_384) }, 413, 'invalid_request'],
      ['another response type', { response_type: 'token' }, 400, 'unsupported_response_type'],
    ])('are refused at once with %s', async (_name, fields, status, error) => {
      const answer = await push(web, fields)
      expect([answer.status, answer.body.error]).toEqual([status, error])
    })

    it('are refused by GET and with a parameter that stands twice', async () => {
      expect((await site.get('/par')).status).toBe(405)
      const { clientId, secret } = web
      const twice = `client_id=${clientId}&client_secret=${secret}&scope=openid&scope=profile`
      expect((await site.post('/par', twice)).body.error).toBe('invalid_request')
    })
  })

  describe('request objects', () => {
    it('count alone, and give PKCE, nonce and state', async () => {
      const { verifier, challenge } = newVerifier()
      const object = await sign({
        nonce: 'inside',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        max_age: 3600,
        claims: { id_token: { auth_time: null } },
      })
      const page = await alice.open(withObject(object, { state: 'outside', nonce: 'outside' }))
      expect(answerOf(page)['state']).toBe('signed')
      const { body } = await exchange(site, web, codeOf(page), { code_verifier: verifier })
      expect(claimsOf(body.id_token)['nonce']).toBe('inside')
    })

    it('need not name their key, whichever of the client it is (RFC 7515 §4.1.4)', async () => {
      const both = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
      const jwks = { keys: await Promise.all(both.map(exportPublic)) }
      const two = await site.client({
        clientId: 'two-keys',
        grantTypes: ['authorization_code'],
        redirectUris: [redirectUri],
        jwks,
      })
      const pushSigned = async (by: GenerateKeyPairResult) =>
        site.post('/par', {
          client_id: two.clientId,
          client_secret: two.secret,
          request: await sign({ iss: 'two-keys', client_id: 'two-keys' }, { kid: undefined }, by),
        })
      for (const pair of both) expect((await pushSigned(pair)).status).toBe(201)
      const { status, body } = await pushSigned(keys)
      expect([status, body.error]).toEqual([400, 'invalid_request_object'])
    })

    it('may be pushed', async () => {
      const { body } = await site.post('/par', {
        client_id: web.clientId,
        client_secret: web.secret,
        request: await sign({ state: 'both' }),
      })
      expect(answerOf(await alice.open(pushed(web, body.request_uri)))['state']).toBe('both')
    })

    it('are refused for another issuer, of another client, expired, endless, nested or of another type', async () => {
      const now = Math.floor(clock.now() / 1000)
      const hs256 = await new SignJWT({ client_id: 'web', iss: 'web', aud: site.issuer })
        .setProtectedHeader({ alg: 'HS256', kid: 'one' })
        .setExpirationTime('1m')
        .sign(Buffer.from(JSON.stringify(await exportJWK(keys.publicKey))))
      const [head, body] = (await sign({})).split('.')
      const none = Buffer.from('{"alg":"none"}').toString('base64url')
      const objects = [
        await sign({ aud: 'https://other.example' }),
        await sign({ iss: 'strict' }),
        await sign({ client_id: 'strict' }),
        await sign({ exp: now - 60 }),
        await sign({ exp: now + 4000 }),
        await sign({ exp: undefined } as unknown as JWTPayload),
        await sign({ nbf: now + 300 }),
        await sign({ iat: now + 120 }),
        await sign({ request_uri: 'urn:x' }),
        await sign({}, { typ: 'at+jwt' }),
        await sign({}, { typ: 5 }),
        await sign({}, { kid: 'two' }),
        await sign({}, { crit: ['exp'] }).catch(() => 'x'),
        hs256,
        `${none}.${body}.`,
        `${head}.${body}.AAAA`,
        'x',
      ]
      for (const object of objects) {
        const outside = { redirect_uri: redirectUri, state: 'outside' }
        const page = await alice.open(withObject(object, outside))
        expect(answerOf(page)).toMatchObject({ error: 'invalid_request_object', state: 'outside' })
        expect((await alice.open(withObject(object))).status).toBe(400)
      }
    })

    it.each<[string, (claims: string) => string]>([
      [
        'a claim that stands twice (RFC 7519 §4)',
        (claims) => `{"redirect_uri":"https://other.example/",${claims.slice(1)}`,
      ],
      [
        'the same claim in another spelling',
        (claims) => `{"st\\u0061te":"other",${claims.slice(1)}`,
      ],
      [
        'claims without an end',
        (claims) => `{"claims":${'['.repeat(9000)}${']'.repeat(9000)},${claims.slice(1)}`,
      ],
    ])('are refused with %s', async (_name, change) => {
      const [, body = ''] = (await sign({})).split('.')
      const claims = Buffer.from(body, 'base64url').toString()
      const request = await new CompactSign(Buffer.from(change(claims)))
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .sign(keys.privateKey)
      const { status, body: told } = await site.post('/par', {
        client_id: web.clientId,
        client_secret: web.secret,
        request,
      })
      expect([status, told.error]).toEqual([400, 'invalid_request_object'])
    })

    it.each(['application/oauth-authz-req+jwt', 'OAuth-Authz-Req+JWT', 'application/jwt', 'JWT'])(
      'may say that they are %s (RFC 7515 §4.1.9)',
      async (typ) => {
        const page = await alice.open(withObject(await sign({}, { typ })))
        expect(answerOf(page)['state']).toBe('signed')
      },
    )

    it('cannot lead to a redirect URI that is not registered', async () => {
      const object = await sign({ redirect_uri: 'https://evil.example/' })
      const page = await alice.open(withObject(object))
      expect(page.status).toBe(400)
      expect(page.away).toBeUndefined()
    })

    it('do not stand beside a request_uri', async () => {
      const more = { request_uri: 'urn:x', redirect_uri: redirectUri }
      const page = await alice.open(withObject(await sign({}), more))
      expect(answerOf(page)['error']).toBe('invalid_request')
    })
  })

  it.each(['jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'])(
    'the answer in mode %s is signed for the client, errors too',
    async (response_mode) => {
      for (const asked of [{}, { prompt: 'none login' }]) {
        const page = await alice.open(authorizeUrl(site, web, { ...asked, response_mode }))
        const response =
          response_mode === 'form_post.jwt'
            ? hiddenFields(page.body)['response']
            : new URLSearchParams(page.away?.split(/[?#]/)[1]).get('response')
        expect(claimsOf(response ?? '')).toMatchObject({
          iss: site.issuer,
          aud: 'web',
          state: 'a state',
          exp: expect.any(Number),
          ...('prompt' in asked ? { error: 'invalid_request' } : { code: expect.any(String) }),
        })
      }
    },
  )
})
