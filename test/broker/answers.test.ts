/** What is believed of the answer of an OpenID provider, and what is not (OIDC Core §3.1.3.7, RFC 9207, RFC 9700). */

import { randomBytes } from 'node:crypto'
import {
  createRemoteJWKSet,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend, backends } from '../support/backends.ts'
import { type Broker, openBrokerRealm, refusalOf } from './trips.ts'
import { type Lies, startUpstream, type Upstream } from './upstream.ts'

const ada = { sub: 'ada-1', email: 'ada@partner.example', email_verified: true, given_name: 'Ada' }
const provider = (alias: string, upstream: Upstream, config: object = {}) => ({
  alias,
  protocol: 'oidc',
  config: { issuer: upstream.issuer, clientId: 'us', clientSecret: 'a secret of ours', ...config },
})

describe.each(backends)('a trip to an OpenID provider on $name', (backend) => {
  let realm: Broker
  let partner: Upstream
  let other: Upstream

  beforeAll(async () => {
    ;[realm, partner, other] = await Promise.all([
      openBrokerRealm(backend),
      startUpstream(),
      startUpstream(),
    ])
    partner.now = () => realm.clock.now()
    await realm.must('POST', '/identity-providers', provider('partner', partner))
    await realm.must('POST', '/identity-providers', provider('other', other))
  })
  beforeEach(() => {
    partner.lies = {}
  })
  afterAll(async () => {
    await realm.close()
    await Promise.all([partner.close(), other.close()])
  })

  it('says who it is, with state, nonce and PKCE in the request', async () => {
    const asked = new URL(await realm.leave('partner', { hints: { loginHint: 'ada' } }))
      .searchParams
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: 'code',
      client_id: 'us',
      redirect_uri: `${realm.server.baseUrl}/realms/shop/broker/partner/endpoint`,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
      login_hint: 'ada',
    })
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(asked.get(name)).toHaveLength(43)
    expect(
      await realm.trip('partner', partner, { ...ada, sid: 's-1', groups: ['staff'] }),
    ).toMatchObject({
      issuer: partner.issuer,
      subject: 'ada-1',
      email: 'ada@partner.example',
      emailVerified: true,
      firstName: 'Ada',
      attributes: { groups: ['staff'] },
      session: { id: 's-1' },
    })
  })

  it('counts once: a replayed answer is refused, also at the same moment', async () => {
    const back = partner.agree(await realm.leave('partner'), ada)
    partner.requests.length = 0
    const outcomes = await Promise.all([1, 2, 3].map(() => refusalOf(realm.arrive(back))))
    expect(outcomes.map((one) => one.split(':')[0]).sort()).toEqual([
      'expired',
      'expired',
      'not refused',
    ])
    // The provider is asked once: what comes second has no trip, whatever the code is worth.
    expect(partner.requests.filter(({ path }) => path === '/token')).toHaveLength(1)
    expect(await refusalOf(realm.arrive(back))).toMatch(/^expired/)
  })

  it('is over after ten minutes', async () => {
    const back = partner.agree(await realm.leave('partner'), ada)
    realm.clock.advance(10 * 60_000)
    expect(await refusalOf(realm.arrive(back))).toMatch(/^expired/)
  })

  it('ends in the browser that began it alone (login CSRF)', async () => {
    const back = partner.agree(await realm.leave('partner'), ada)
    expect(await refusalOf(realm.arrive(back, { browser: 'c'.repeat(43) }))).toMatch(/^expired/)
    expect(await refusalOf(realm.arrive(back, { browser: undefined }))).toMatch(/^expired/)
    expect(await refusalOf(realm.arrive(back))).toBe('not refused')
  })

  it('ends at the provider that it began with alone (mix-up, RFC 9700 §4.4)', async () => {
    const back = partner.agree(await realm.leave('partner'), ada)
    expect(await refusalOf(realm.arrive(back, { alias: 'other' }))).toMatch(/^expired/)
    expect(other.requests.filter(({ path }) => path === '/token')).toEqual([])
  })

  it('is not begun for an answer that a provider sends by itself', async () => {
    const back = new URL(partner.agree(await realm.leave('partner'), ada))
    back.searchParams.delete('state')
    expect(await refusalOf(realm.arrive(back.href))).toMatch(/^expired/)
    back.searchParams.set('state', 'x'.repeat(43))
    expect(await refusalOf(realm.arrive(back.href))).toMatch(/^expired/)
  })
})

describe.each(anyBackend)('an answer of an OpenID provider', (backend) => {
  let realm: Broker
  let partner: Upstream
  let count = 0
  /** A provider of its own each: a discovery document is kept for a while. */
  const add = async (config: object = {}, fields: object = {}): Promise<string> => {
    count += 1
    const alias = `p-${count}`
    const discovery = `${partner.issuer}/.well-known/openid-configuration`
    await realm.must('POST', '/identity-providers', {
      ...provider(alias, partner, { discoveryUrl: `${discovery}?${alias}`, ...config }),
      ...fields,
    })
    return alias
  }
  const refused = async (lies: Lies, extra?: Record<string, string>, config?: object) => {
    partner.lies = lies
    return refusalOf(realm.trip(await add(config), partner, ada, extra ? { extra } : {}))
  }
  const claim = (change: Record<string, unknown>) =>
    refused({ idToken: (truth) => ({ ...truth, ...change }) })

  beforeAll(async () => {
    ;[realm, partner] = await Promise.all([openBrokerRealm(backend), startUpstream()])
    partner.now = () => realm.clock.now()
  })
  beforeEach(() => {
    partner.lies = {}
  })
  afterAll(async () => {
    await realm.close()
    await partner.close()
  })

  it('is refused where a claim of the ID token is not of this trip', async () => {
    expect(await claim({ iss: 'https://evil.example' })).toMatch(/^invalid-answer.*CLAIM/)
    expect(await claim({ aud: 'another client' })).toMatch(/^invalid-answer.*CLAIM/)
    expect(await claim({ aud: ['us', 'another client'] })).toMatch(/no azp/)
    expect(await claim({ aud: ['us', 'them'], azp: 'them' })).toMatch(/another party/)
    expect(await claim({ azp: 'them' })).toMatch(/another party/)
    expect(await claim({ nonce: 'n'.repeat(43) })).toMatch(/another nonce/)
    expect(await claim({ nonce: undefined })).toMatch(/another nonce/)
    expect(await claim({ at_hash: 'x' })).toMatch(/another access token/)
    expect(await claim({ exp: Math.floor(realm.clock.now() / 1000) - 120 })).toMatch(/EXPIRED/)
    expect(await claim({ exp: undefined })).toMatch(/CLAIM/)
    expect(await claim({ sub: undefined })).toMatch(/CLAIM/)
    expect(await claim({ sub: '' })).toMatch(/^invalid-answer/)
    expect(await claim({ aud: ['us', 'them'], azp: 'us' })).toBe('not refused')
  })

  it('is refused unless a key of the provider signed the ID token with an algorithm of the list', async () => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const none = async (claims: JWTPayload) => `${encode({ alg: 'none' })}.${encode(claims)}.`
    expect(await refused({ sign: none })).toMatch(/^invalid-answer/)
    // The public key, as text, in place of a secret (CVE-2015-9235 and its heirs).
    const publicKey = await importJWK(partner.publicKey, 'RS256')
    const pem = await exportSPKI(publicKey as Parameters<typeof exportSPKI>[0])
    const confused = (claims: JWTPayload) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(pem))
    expect(await refused({ sign: confused })).toMatch(/^invalid-answer.*ALG_NOT_ALLOWED/)
    const secret = (claims: JWTPayload) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from('a secret of ours'))
    expect(await refused({ sign: secret })).toMatch(/^invalid-answer.*ALG_NOT_ALLOWED/)
    // Also where the provider says that it signs so, or says nothing: the list is ours.
    for (const listed of [['RS256', 'HS256', 'none'], undefined])
      for (const sign of [
        confused,
        secret,
        async (claims: JWTPayload) => `${await none(claims)}AAAA`,
      ])
        expect(
          await refused({
            sign,
            discovery: (truth) => ({ ...truth, id_token_signing_alg_values_supported: listed }),
          }),
        ).toMatch(/^invalid-answer.*ALG_NOT_ALLOWED/)
    const { privateKey } = await generateKeyPair('RS256')
    const foreign = (claims: JWTPayload) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey)
    expect(await refused({ sign: foreign })).toMatch(/^invalid-answer/)
    const embedded = (claims: JWTPayload) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', jku: `${partner.url}/evil`, jwk: { kty: 'RSA' } })
        .sign(privateKey)
    expect(await refused({ sign: embedded })).toMatch(/^invalid-answer/)
  })

  it('is verified with the client secret alone where the provider has no keys', async () => {
    const strong = randomBytes(32).toString('hex')
    const config = { useJwksUrl: false, clientSecret: strong }
    const secret = (claims: JWTPayload) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(strong))
    expect(await refused({ sign: secret }, undefined, config)).toBe('not refused')
    expect(await refused({}, undefined, config)).toMatch(/ALG_NOT_ALLOWED/)
  })

  it('is refused where userinfo is about another subject, and taken where it is signed', async () => {
    const mallory = { userInfo: (truth: object) => ({ ...truth, sub: 'mallory' }) }
    expect(await refused(mallory)).toMatch(/^invalid-answer: userinfo is about another/)
    const missing = { userInfo: () => ({ email: 'ada@partner.example' }) }
    expect(await refused(missing)).toMatch(/^invalid-answer: userinfo is about another/)
    partner.lies = {
      userInfo: (truth) => ({ ...truth, department: 'Lamps', email: 'evil@x.example' }),
    }
    expect(await realm.trip(await add(), partner, ada)).toMatchObject({
      email: 'ada@partner.example',
      attributes: { department: ['Lamps'] },
    })
  })

  it('proves by the ID token alone how strong and how recent the sign-in was (OIDC Core §2)', async () => {
    const strong = {
      amr: ['mfa'],
      acr: 'https://refeds.org/profile/mfa',
      auth_time: 1,
      sid: 'of another',
      iss: 'https://evil.example',
    }
    partner.lies = {
      idToken: ({ auth_time: _, ...truth }) => truth,
      userInfo: (truth) => ({ ...truth, ...strong }),
    }
    const identity = await realm.trip(await add(), partner, ada)
    expect(identity).toMatchObject({ issuer: partner.issuer, subject: ada.sub })
    expect([identity.amr, identity.acr, identity.authTime, identity.session?.id]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it.each([
    ['in the ID token, and the flag in userinfo of another', { email: 'b@x.example' }, false],
    ['in the ID token, and the flag in userinfo of the same', { email: 'a@x.example' }, true],
    ['in userinfo, and the flag in the ID token of none', undefined, false],
  ])(
    'has a verified address only where both were said together: %s',
    async (_, told, isVerified) => {
      const { email: _e, email_verified: _v, ...person } = ada
      partner.lies = {
        idToken: (truth) =>
          told ? { ...truth, email: 'a@x.example' } : { ...truth, email_verified: true },
        userInfo: (truth) =>
          told ? { ...truth, ...told, email_verified: true } : { ...truth, email: 'a@x.example' },
      }
      expect(await realm.trip(await add(), partner, person)).toMatchObject({
        email: 'a@x.example',
        emailVerified: isVerified,
      })
    },
  )

  it('names its issuer where the provider promises that (RFC 9207)', async () => {
    const promises: Lies = {
      discovery: (truth) => ({ ...truth, authorization_response_iss_parameter_supported: true }),
    }
    expect(await refused(promises)).toMatch(/^invalid-answer: the answer is of another issuer/)
    expect(await refused(promises, { iss: 'https://evil.example' })).toMatch(/another issuer/)
    expect(await refused({}, { iss: 'https://evil.example' })).toMatch(/another issuer/)
    expect(await refused(promises, { iss: partner.issuer })).toBe('not refused')
  })

  it('may be a refusal, whose words are not passed on', async () => {
    const alias = await add()
    const back = (error: string) => async () => {
      const asked = new URL(await realm.leave(alias)).searchParams
      return `${asked.get('redirect_uri')}?error=${error}&error_description=SECRET&state=${asked.get('state')}`
    }
    for (const [error, reason] of [
      ['access_denied', 'denied'],
      ['user_cancelled_login', 'denied'],
      ['user_cancelled_authorize', 'denied'],
      ['server_error', 'unavailable'],
      ['temporarily_unavailable', 'unavailable'],
      ['invalid_scope', 'invalid-answer'],
    ] as const)
      expect(await refusalOf(realm.arrive(await back(error)()))).toBe(
        `${reason}: the provider refuses: ${error}`,
      )
    const odd = await refusalOf(realm.arrive(await back('%3Cscript%3E')()))
    expect(odd).toBe('invalid-answer: the provider refuses: error')
  })

  it('goes on after a rotation of keys', async () => {
    const alias = await add()
    expect(await refusalOf(realm.trip(alias, partner, ada))).toBe('not refused')
    await partner.rotate()
    realm.clock.advance(11_000)
    expect(await refusalOf(realm.trip(alias, partner, ada))).toBe('not refused')
  })

  it('proves a recent sign-in where one was asked for', async () => {
    const alias = await add()
    const hints = { forceAuthn: true }
    const asked = new URL(await realm.leave(alias, { hints })).searchParams
    expect([asked.get('prompt'), asked.get('max_age')]).toEqual(['login', '0'])
    expect(await refusalOf(realm.trip(alias, partner, ada, { hints }))).toBe('not refused')
    for (const auth_time of [undefined, 'now', Math.floor(realm.clock.now() / 1000) - 600]) {
      partner.lies = { idToken: (truth) => ({ ...truth, auth_time }) }
      expect(await refusalOf(realm.trip(alias, partner, ada, { hints }))).toMatch(/sign in again/)
    }
  })

  it('comes from the configured issuer alone, and no redirect is followed', async () => {
    const lying = { discovery: (truth: object) => ({ ...truth, issuer: 'https://evil.example' }) }
    expect(await refused(lying)).toMatch(/^invalid-answer: the discovery document names another/)
    const redirect = (target: string): Lies => ({
      answer: (path, response) => {
        if (!path.endsWith('openid-configuration')) return false
        response.writeHead(302, { location: target }).end()
        return true
      },
    })
    partner.requests.length = 0
    expect(await refused(redirect(`${partner.url}/internal`))).toBe(
      'unavailable: the discovery document is answered with 302',
    )
    expect(partner.requests.map(({ path }) => path)).not.toContain('/internal')
  })

  it('is not waited for without limits: huge documents end the trip', async () => {
    const huge = (end: string): Lies => ({
      answer: (path, response) => {
        if (!path.endsWith(end)) return false
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(`{"keys":[${'{},'.repeat(200_000)}{}]}`)
        return true
      },
    })
    expect(await refused(huge('openid-configuration'))).toMatch(
      /^unavailable.*more than 262144 bytes/,
    )
    expect(await refused(huge('/token'))).toMatch(/^unavailable.*more than 262144 bytes/)
    const alias = await add({ jwksUrl: `${partner.url}/huge` })
    partner.lies = huge('/huge')
    expect(await refusalOf(realm.trip(alias, partner, ada))).toMatch(
      /^unavailable: the keys.*262144/,
    )
  })

  it('never leads to an internal address', async () => {
    const inward = {
      discovery: (truth: object) => ({ ...truth, token_endpoint: 'http://169.254.169.254/' }),
    }
    expect(await refused(inward)).toMatch(/^unavailable.*link-local address is not allowed/)
    const script = {
      discovery: (truth: object) => ({ ...truth, authorization_endpoint: 'javascript:1' }),
    }
    expect(await refused(script)).toMatch(/^unavailable.*no web address/)
  })

  it('is fetched with every method of client authentication', async () => {
    const seenBy = async (clientAuthMethod: string) => {
      const alias = await add({ clientAuthMethod })
      expect(await refusalOf(realm.trip(alias, partner, ada))).toBe('not refused')
      const { body, headers } = partner.requests.findLast(({ path }) => path === '/token') ?? {}
      const basic = String(headers?.authorization ?? '').replace('Basic ', '')
      return { basic: Buffer.from(basic, 'base64').toString(), form: new URLSearchParams(body) }
    }
    expect((await seenBy('client_secret_basic')).basic).toBe('us:a+secret+of+ours')
    expect((await seenBy('client_secret_post')).form.get('client_secret')).toBe('a secret of ours')
    const ours = createRemoteJWKSet(
      new URL(`${realm.server.baseUrl}/realms/shop/.well-known/jwks.json`),
    )
    const expected = { subject: 'us', issuer: 'us', audience: `${partner.url}/token` }
    const byRealm = (await seenBy('private_key_jwt')).form.get('client_assertion') ?? ''
    expect((await jwtVerify(byRealm, ours, expected)).payload.jti).toBeTypeOf('string')
    const bySecret = (await seenBy('client_secret_jwt')).form.get('client_assertion') ?? ''
    const secret = Buffer.from('a secret of ours')
    expect((await jwtVerify(bySecret, secret, expected)).payload.jti).toBeTypeOf('string')
  })

  it('counts only while the provider may be used, for this purpose', async () => {
    const unusable = [{ enabled: false }, { linkOnly: true }, { hideOnLogin: true }]
    for (const fields of unusable) {
      const dead = await add({}, fields)
      expect(await refusalOf(realm.leave(dead))).toMatch(/^not-allowed/)
    }
    const linked = await add({}, { linkOnly: true })
    const purpose = { kind: 'link', userId: 'u', data: null } as const
    expect(await refusalOf(realm.leave(linked, { purpose }))).toBe('not refused')
    const alias = await add()
    const back = partner.agree(await realm.leave(alias), ada)
    const before = await realm.must('GET', `/identity-providers/${alias}`)
    await realm.must('PUT', `/identity-providers/${alias}`, { ...before, linkOnly: true })
    expect(await refusalOf(realm.arrive(back))).toMatch(/^not-allowed/)
  })
})
