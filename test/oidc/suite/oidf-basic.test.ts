/**
 * The modules of the public certification suite for the basic, form-post-basic and config plans, each as the requests
 * and answers it is made of and under its own name. What a module asks a person to look at is read from the page here.
 */

import { createLocalJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { backends } from '../../support/backends.ts'
import {
  basic,
  claimsOf,
  type OidcSite,
  openIssuer,
  type Reply,
  type TestClient,
} from '../fixture.ts'
import {
  type Asked,
  actionOf,
  addPerson,
  authorizeUrl,
  change,
  hiddenFields,
  newPerson,
  newVerifier,
  type Page,
  type Person,
  password,
  redirectUri,
} from '../relying-party.ts'

const plans = [
  { plan: 'oidcc-basic', mode: undefined },
  { plan: 'oidcc-formpost-basic', mode: 'form_post' },
] as const

/** One on each database: they differ in how the answer comes back, which no database has a part in. */
const runs = plans.flatMap((plan, i) =>
  backends
    .slice(i % backends.length)
    .slice(0, 1)
    .map((backend) => ({ ...plan, backend, ...backend })),
)

describe.each(runs)('$plan-certification-test-plan on $name', ({ backend, mode }) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let client: TestClient
  let second: TestClient

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    for (const name of ['address', 'phone']) await site.admin('POST', '/client-scopes', { name })
    const common = {
      grantTypes: ['authorization_code', 'refresh_token'] as 'authorization_code'[],
      redirectUris: [redirectUri],
      scopes: ['profile', 'email', 'address', 'phone', 'offline_access'],
    }
    client = await site.client({ clientId: 'client', ...common })
    second = await site.client({ clientId: 'client2', ...common })
    const id = await addPerson(site, 'alice')
    await change(site, `/users/${id}`, {
      firstName: 'Alice',
      lastName: 'Sørensen',
      emailVerified: true,
      attributes: {
        phoneNumber: ['+45 1234'],
        phoneNumberVerified: ['true'],
        street: ['Main 1'],
        locality: ['Aarhus'],
        country: ['DK'],
      },
    })
  }, 60_000)
  afterAll(() => site.close())

  const url = (asked: Asked = {}, of = client): string =>
    authorizeUrl(site, of, { nonce: 'n', response_mode: mode, ...asked })

  const answerOf = (page: Page): Record<string, string> => {
    if (page.away !== undefined) return Object.fromEntries(new URL(page.away).searchParams)
    if (actionOf(page.body) !== redirectUri)
      throw new Error(`no answer: ${page.status} ${page.url}`)
    return hiddenFields(page.body)
  }

  const exchange = (code: string | undefined, fields = {}, of = client): Promise<Reply> =>
    site.post(
      '/token',
      { grant_type: 'authorization_code', code: code ?? '', redirect_uri: redirectUri, ...fields },
      basic(of.clientId, of.secret),
    )

  /** From the request to the tokens, in a browser of its own unless one is given. */
  const tokens = async (asked: Asked = {}, person: Person = newPerson(site), fields = {}) => {
    const answer = answerOf(await person.signIn(url(asked)))
    expect(answer).toMatchObject({ state: 'a state', iss: site.issuer })
    const { status, body } = await exchange(answer['code'], fields)
    expect(status).toBe(200)
    const { payload } = await jwtVerify(
      body.id_token,
      createLocalJWKSet((await site.get('/.well-known/jwks.json')).body),
      { issuer: site.issuer, audience: 'client', currentDate: new Date(now) },
    )
    return { ...body, claims: payload }
  }

  const userinfo = async (token: string): Promise<Reply> =>
    site.get('/userinfo', { authorization: `Bearer ${token}` })

  it('oidcc-server', async () => {
    const { claims, access_token, token_type } = await tokens()
    expect(token_type).toBe('Bearer')
    expect(claims).toMatchObject({ nonce: 'n', sub: expect.any(String) })
    expect((await userinfo(access_token)).body.sub).toBe(claims.sub)
  })

  it('oidcc-response-type-missing', async () => {
    const answer = answerOf(await newPerson(site).open(url({ response_type: undefined })))
    expect(answer).toMatchObject({ error: 'invalid_request', state: 'a state' })
  })

  it('oidcc-idtoken-signature', async () => {
    const { id_token } = await tokens()
    const header = JSON.parse(Buffer.from(id_token.split('.')[0], 'base64url').toString())
    const { keys } = (await site.get('/.well-known/jwks.json')).body
    expect(header.alg).toBe('RS256')
    expect(keys.map(({ kid }: { kid: string }) => kid)).toContain(header.kid)
  })

  it('oidcc-idtoken-unsigned', async () => {
    const { body } = await site.get('/.well-known/openid-configuration')
    expect(body.id_token_signing_alg_values_supported).not.toContain('none')
  })

  it('oidcc-userinfo-get', async () => {
    const { access_token, claims } = await tokens()
    expect((await userinfo(access_token)).body.sub).toBe(claims.sub)
  })

  it('oidcc-userinfo-post-header', async () => {
    const { access_token, claims } = await tokens()
    const { body } = await site.post('/userinfo', {}, { authorization: `Bearer ${access_token}` })
    expect(body.sub).toBe(claims.sub)
  })

  it('oidcc-userinfo-post-body', async () => {
    const { access_token, claims } = await tokens()
    expect((await site.post('/userinfo', { access_token })).body.sub).toBe(claims.sub)
  })

  it('oidcc-ensure-request-without-nonce-succeeds-for-code-flow', async () => {
    expect((await tokens({ nonce: undefined })).claims).not.toHaveProperty('nonce')
  })

  const scopes: readonly [string, string, object][] = [
    ['oidcc-scope-profile', 'openid profile', { name: 'Alice Sørensen', family_name: 'Sørensen' }],
    ['oidcc-scope-email', 'openid email', { email: 'alice@acme.example', email_verified: true }],
    ['oidcc-scope-address', 'openid address', { address: { locality: 'Aarhus', country: 'DK' } }],
    [
      'oidcc-scope-phone',
      'openid phone',
      { phone_number: '+45 1234', phone_number_verified: true },
    ],
    [
      'oidcc-scope-all',
      'openid profile email address phone',
      { name: 'Alice Sørensen', email: 'alice@acme.example', phone_number: '+45 1234' },
    ],
  ]
  it.each(scopes)('%s', async (_name, scope, expected) => {
    const { body } = await userinfo((await tokens({ scope })).access_token)
    expect(body).toMatchObject(expected)
    if (!scope.includes('email')) expect(body).not.toHaveProperty('email')
  })

  it('oidcc-alternate-happy-flow', async () => {
    const target = new URL(url({ scope: 'email openid' }))
    const reversed = [...target.searchParams].reverse()
    target.search = new URLSearchParams(reversed).toString()
    const { code } = answerOf(await newPerson(site).signIn(target.href))
    const { body } = await exchange(code)
    expect((await userinfo(body.access_token)).body.email).toBe('alice@acme.example')
  })

  it.each(['page', 'popup'])('oidcc-display-%s', async (display) => {
    await tokens({ display })
  })

  it('oidcc-prompt-login', async () => {
    const alice = newPerson(site)
    const first = await tokens({}, alice)
    now += 2000
    const form = await alice.open(url({ prompt: 'login' }))
    expect(form.body).toContain('name="password"')
    const { code } = answerOf(await alice.submit(form, { username: 'alice', password }))
    const again = claimsOf((await exchange(code)).body.id_token)
    expect(again['sub']).toBe(first.claims.sub)
    expect(again['auth_time']).toBeGreaterThan(Number(first.claims['auth_time']))
  })

  it('oidcc-prompt-none-not-logged-in', async () => {
    const answer = answerOf(await newPerson(site).open(url({ prompt: 'none' })))
    expect(answer['error']).toMatch(/^(login|interaction)_required$/)
  })

  it('oidcc-prompt-none-logged-in', async () => {
    const alice = newPerson(site)
    const first = await tokens({}, alice)
    const { claims } = await tokens({ prompt: 'none' }, alice)
    expect([claims.sub, claims['auth_time']]).toEqual([first.claims.sub, first.claims['auth_time']])
  })

  it('oidcc-max-age-1', async () => {
    const alice = newPerson(site)
    const first = await tokens({}, alice)
    now += 2000
    expect((await alice.open(url({ max_age: '1' }))).body).toContain('name="password"')
    const { claims } = await tokens({ max_age: '1' }, alice)
    expect(claims['auth_time']).toBeGreaterThan(Number(first.claims['auth_time']))
  })

  it('oidcc-max-age-10000', async () => {
    const alice = newPerson(site)
    const first = await tokens({}, alice)
    const { code } = answerOf(await alice.open(url({ max_age: '10000' })))
    const { auth_time, sub } = claimsOf((await exchange(code)).body.id_token)
    expect([auth_time, sub]).toEqual([first.claims['auth_time'], first.claims.sub])
  })

  it('oidcc-ensure-request-with-unknown-parameter-succeeds', async () => {
    await tokens({ extra: 'foobar' })
  })

  it('oidcc-id-token-hint', async () => {
    const alice = newPerson(site)
    const { id_token, claims } = await tokens({}, alice)
    const again = await tokens({ prompt: 'none', id_token_hint: id_token }, alice)
    expect(again.claims.sub).toBe(claims.sub)
  })

  it('oidcc-login-hint', async () => {
    const page = await newPerson(site).open(url({ login_hint: 'alice@acme.example' }))
    expect(page.body).toContain('value="alice@acme.example"')
    await tokens({ login_hint: 'alice' })
  })

  it('oidcc-ui-locales', async () => {
    await tokens({ ui_locales: 'se' })
  })

  it('oidcc-claims-locales', async () => {
    await tokens({ claims_locales: 'se' })
  })

  it('oidcc-ensure-request-with-acr-values-succeeds', async () => {
    expect((await tokens({ acr_values: '1 2' })).claims['acr']).toBe('1')
  })

  const reuse = async (seconds: number): Promise<void> => {
    const { code } = answerOf(await newPerson(site).signIn(url()))
    const { body } = await exchange(code)
    now += seconds * 1000
    const again = await exchange(code)
    expect([again.status, again.body.error]).toEqual([400, 'invalid_grant'])
    expect((await userinfo(body.access_token)).status).toBe(401)
  }
  it('oidcc-codereuse', () => reuse(0))
  it('oidcc-codereuse-30seconds', () => reuse(30))

  it('oidcc-ensure-registered-redirect-uri', async () => {
    const page = await newPerson(site).open(url({ redirect_uri: `${redirectUri}/unregistered` }))
    expect(page.status).toBe(400)
    expect(page.away).toBeUndefined()
    expect(page.body).toContain('redirect_uri is not one of the client')
  })

  it('oidcc-ensure-post-request-succeeds', async () => {
    const alice = newPerson(site)
    const form = await alice.open(`${site.issuer}/authorize`, new URL(url()).search.slice(1))
    const { code } = answerOf(await alice.submit(form, { username: 'alice', password }))
    expect((await exchange(code)).status).toBe(200)
  })

  it('oidcc-server-client-secret-post', async () => {
    const { code } = answerOf(await newPerson(site).signIn(url({}, second)))
    const { status } = await site.post('/token', {
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: redirectUri,
      client_id: second.clientId,
      client_secret: second.secret,
    })
    expect(status).toBe(200)
  })

  it('oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported', async () => {
    const page = await newPerson(site).open(url({ request_uri: 'https://rp.example/request' }))
    expect(answerOf({ ...page })).toMatchObject({ error: 'request_uri_not_supported' })
  })

  const unsigned = (claims: object): string =>
    [{ alg: 'none' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
      .concat('.')

  it('oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported', async () => {
    const { body } = await site.get('/.well-known/openid-configuration')
    expect(body.request_object_signing_alg_values_supported).not.toContain('none')
    const request = unsigned(Object.fromEntries(new URL(url()).searchParams))
    const page = await newPerson(site).open(url({ request }))
    expect(answerOf(page)['error']).toBe('invalid_request_object')
  })

  it('oidcc-claims-essential', async () => {
    const claims = JSON.stringify({ userinfo: { name: { essential: true } } })
    const { access_token } = await tokens({ claims })
    const { body } = await userinfo(access_token)
    expect(body).toMatchObject({ name: 'Alice Sørensen' })
    expect(body).not.toHaveProperty('email')
  })

  it('oidcc-ensure-request-object-with-redirect-uri', async () => {
    const request = unsigned({ client_id: 'client', redirect_uri: redirectUri })
    const wrong = { request, redirect_uri: `${redirectUri}/unregistered` }
    const page = await newPerson(site).open(url(wrong))
    expect([page.status, page.away]).toEqual([400, undefined])
  })

  it('oidcc-refresh-token', async () => {
    const first = await tokens({ scope: 'openid offline_access', prompt: undefined })
    const refresh = (of: TestClient, refresh_token: string): Promise<Reply> =>
      site.post(
        '/token',
        { grant_type: 'refresh_token', refresh_token },
        basic(of.clientId, of.secret),
      )
    const stolen = await refresh(second, first.refresh_token)
    expect([stolen.status, stolen.body.error]).toEqual([400, 'invalid_grant'])
    now += 1000
    const { status, body } = await refresh(client, first.refresh_token)
    expect(status).toBe(200)
    const claims = claimsOf(body.id_token)
    expect(claims).toMatchObject({
      iss: site.issuer,
      sub: first.claims.sub,
      aud: 'client',
      auth_time: first.claims['auth_time'],
    })
    expect(body.access_token).not.toBe(first.access_token)
  })

  it('oidcc-ensure-request-with-valid-pkce-succeeds', async () => {
    const { verifier, challenge } = newVerifier()
    const asked = { code_challenge: challenge, code_challenge_method: 'S256' }
    await tokens(asked, undefined, { code_verifier: verifier })
  })
})

describe.each(backends)('oidcc-config-certification-test-plan on $name', (backend) => {
  it('oidcc-discovery-endpoint-verification', async () => {
    const site = await openIssuer(backend)
    const { status, headers, body } = await site.get('/.well-known/openid-configuration')
    const keys = (await site.get('/.well-known/jwks.json')).body
    await site.close()
    expect(status).toBe(200)
    expect(headers.get('content-type')).toContain('application/json')
    expect(body).toMatchObject({
      issuer: site.issuer,
      authorization_endpoint: `${site.issuer}/authorize`,
      token_endpoint: `${site.issuer}/token`,
      userinfo_endpoint: `${site.issuer}/userinfo`,
      pushed_authorization_request_endpoint: `${site.issuer}/par`,
      response_types_supported: ['code'],
      request_parameter_supported: true,
      request_uri_parameter_supported: false,
      claims_parameter_supported: true,
      authorization_response_iss_parameter_supported: true,
    })
    for (const [member, values] of [
      ['scopes_supported', ['openid']],
      ['response_modes_supported', ['query', 'fragment', 'form_post', 'jwt', 'query.jwt']],
      ['grant_types_supported', ['authorization_code']],
      ['subject_types_supported', ['public']],
      ['id_token_signing_alg_values_supported', ['RS256']],
      ['claims_supported', ['sub', 'name', 'email']],
      ['prompt_values_supported', ['none', 'login', 'consent', 'select_account']],
    ] as const)
      expect(body[member], member).toEqual(expect.arrayContaining([...values]))
    for (const key of keys.keys) {
      expect(key).toMatchObject({ kty: 'RSA', use: 'sig', kid: expect.any(String) })
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi']) expect(key).not.toHaveProperty(secret)
    }
  })
})
