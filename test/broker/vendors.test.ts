/** The social presets, each against a server with the quirks of its vendor. */

import { createHmac, generateKeyPairSync } from 'node:crypto'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { type Broker, openBrokerRealm, refusalOf } from './trips.ts'
import { startUpstream, type Upstream } from './upstream.ts'

const tenant = '11111111-2222-3333-4444-555555555555'
const otherTenant = '99999999-2222-3333-4444-555555555555'

describe.each(anyBackend)('the preset of', (backend) => {
  let realm: Broker
  let vendor: Upstream
  let count = 0
  const add = async (protocol: string, config: object = {}): Promise<string> => {
    count += 1
    const alias = `${protocol}-${count}`
    await realm.must('POST', '/identity-providers', {
      alias,
      protocol,
      config: {
        clientId: 'us',
        clientSecret: 'a secret of ours',
        discoveryUrl: `${vendor.url}/.well-known/openid-configuration`,
        ...config,
      },
    })
    return alias
  }

  beforeAll(async () => {
    ;[realm, vendor] = await Promise.all([openBrokerRealm(backend), startUpstream()])
    vendor.now = () => realm.clock.now()
  })
  beforeEach(() => {
    vendor.lies = {}
    // A discovery document is kept for ten minutes.
    realm.clock.advance(11 * 60_000)
  })
  afterAll(async () => {
    await realm.close()
    await vendor.close()
  })

  it('google lets in the hosted domain alone, by the claim and not by the address', async () => {
    const alias = await add('google', { hostedDomain: 'corp.example' })
    expect(new URL(await realm.leave(alias)).searchParams.get('hd')).toBe('corp.example')
    const ada = { sub: '1', email: 'ada@corp.example', email_verified: true }
    expect(await refusalOf(realm.trip(alias, vendor, ada))).toMatch(/^not-allowed.*hosted domain/)
    const foreign = { ...ada, hd: 'evil.example' }
    expect(await refusalOf(realm.trip(alias, vendor, foreign))).toMatch(/^not-allowed/)
    const own = await realm.trip(alias, vendor, { ...ada, hd: 'corp.example' })
    expect(own.emailVerified).toBe(true)
  })

  it('google vouches for its own addresses alone', async () => {
    const alias = await add('google')
    const verified = async (claims: object) =>
      (await realm.trip(alias, vendor, { sub: '1', email_verified: true, ...claims })).emailVerified
    expect(await verified({ email: 'ada@gmail.com' })).toBe(true)
    expect(await verified({ email: 'ada@gmail.com', email_verified: false })).toBe(false)
    expect(await verified({ email: 'ada@elsewhere.example' })).toBe(false)
    expect(await verified({ email: 'ada@corp.example', hd: 'corp.example' })).toBe(true)
    expect(await verified({ email: 'ada@victim.example', hd: 'corp.example' })).toBe(false)
  })

  describe('microsoft', () => {
    const ada = { sub: 'pairwise', tid: tenant, oid: 'oid-1', email: 'ada@corp.example' }
    const common = () => {
      vendor.lies = {
        discovery: (truth) => ({ ...truth, issuer: `${vendor.url}/{tenantid}/v2.0` }),
        idToken: (claims) => ({ ...claims, iss: `${vendor.url}/${String(claims['tid'])}/v2.0` }),
      }
    }

    it('knows a person by tenant and object, never by sub or address', async () => {
      common()
      const alias = await add('microsoft')
      expect(await realm.trip(alias, vendor, ada)).toMatchObject({
        issuer: `${vendor.url}/${tenant}/v2.0`,
        subject: 'oid-1',
      })
      const { oid: _, ...without } = ada
      expect(await refusalOf(realm.trip(alias, vendor, without))).toMatch(/^not-allowed/)
      const { tid: __, ...nowhere } = ada
      expect(await refusalOf(realm.trip(alias, vendor, nowhere))).toMatch(/^invalid-answer.*no tid/)
    })

    it('refuses a token whose issuer is of another tenant than its tid', async () => {
      common()
      const alias = await add('microsoft')
      vendor.lies.idToken = (claims) => ({ ...claims, iss: `${vendor.url}/${otherTenant}/v2.0` })
      expect(await refusalOf(realm.trip(alias, vendor, ada))).toMatch(/^invalid-answer/)
      vendor.lies.idToken = (claims) => ({ ...claims, tid: '../x', iss: `${vendor.url}/../x/v2.0` })
      expect(await refusalOf(realm.trip(alias, vendor, ada))).toMatch(/^invalid-answer/)
    })

    it('lets in the allowed tenants alone', async () => {
      common()
      const alias = await add('microsoft', { allowedTenants: [tenant] })
      expect(await refusalOf(realm.trip(alias, vendor, ada))).toBe('not refused')
      const other = { ...ada, tid: otherTenant }
      expect(await refusalOf(realm.trip(alias, vendor, other))).toMatch(
        /^not-allowed.*allowedTenants/,
      )
    })

    it('believes an address of a verified domain, or of an allowed tenant (CVE-2026-56666)', async () => {
      common()
      const anyTenant = await add('microsoft')
      const verified = async (alias: string, claims: object) =>
        (await realm.trip(alias, vendor, { ...ada, ...claims })).emailVerified
      expect(await verified(anyTenant, {})).toBe(false)
      // The claim of other providers means nothing here: any tenant can send it.
      expect(await verified(anyTenant, { email_verified: true })).toBe(false)
      expect(await verified(anyTenant, { xms_edov: false })).toBe(false)
      expect(await verified(anyTenant, { xms_edov: '0' })).toBe(false)
      for (const yes of [true, 1, '1', 'true'])
        expect(await verified(anyTenant, { xms_edov: yes })).toBe(true)
      expect(await verified(await add('microsoft', { allowedTenants: [tenant] }), {})).toBe(true)
    })
  })

  it('github has no ID token, private addresses, and errors with status 200', async () => {
    let emails: unknown = [
      { email: 'old@x.example', primary: false, verified: true },
      { email: 'octo@x.example', primary: true, verified: true },
    ]
    vendor.lies = {
      token: ({ access_token }) => ({ access_token, token_type: 'bearer', scope: 'user:email' }),
      answer: (path, response) => {
        if (path !== '/user' && path !== '/user/emails') return false
        const body =
          path === '/user' ? { id: 583_231, login: 'octo', name: 'Mona Lisa', email: null } : emails
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
        return true
      },
    }
    const alias = await add('github', {
      discoveryUrl: undefined,
      authorizationUrl: `${vendor.url}/authorize`,
      tokenUrl: `${vendor.url}/token`,
      userInfoUrl: `${vendor.url}/user`,
    })
    const asked = new URL(await realm.leave(alias)).searchParams
    expect([asked.get('nonce'), asked.get('scope')]).toEqual([null, 'read:user user:email'])
    expect(await realm.trip(alias, vendor, { sub: 'x' })).toMatchObject({
      issuer: 'https://github.com',
      subject: '583231',
      username: 'octo',
      email: 'octo@x.example',
      emailVerified: true,
      firstName: 'Mona',
      lastName: 'Lisa',
    })
    emails = [{ email: 'octo@x.example', primary: true, verified: false }]
    expect((await realm.trip(alias, vendor, { sub: 'x' })).emailVerified).toBe(false)
    vendor.lies.token = () => ({ error: 'bad_verification_code', error_description: 'SECRET' })
    expect(await refusalOf(realm.trip(alias, vendor, { sub: 'x' }))).toBe(
      'invalid-answer: the token endpoint refuses: bad_verification_code',
    )
  })

  it('facebook proves the application, and vouches for no address', async () => {
    vendor.lies = {
      token: ({ access_token }) => ({ access_token, token_type: 'bearer' }),
      answer: (path, response) => {
        if (path !== '/me') return false
        const body = { id: '77', email: 'ada@x.example', email_verified: true, first_name: 'Ada' }
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
        return true
      },
    }
    const alias = await add('facebook', {
      discoveryUrl: undefined,
      authorizationUrl: `${vendor.url}/authorize`,
      tokenUrl: `${vendor.url}/token`,
      userInfoUrl: `${vendor.url}/me`,
    })
    expect(await realm.trip(alias, vendor, { sub: 'x' })).toMatchObject({
      issuer: 'https://www.facebook.com',
      subject: '77',
      email: 'ada@x.example',
      emailVerified: false,
    })
    const { path = '', headers } =
      vendor.requests.findLast((one) => one.path.startsWith('/me')) ?? {}
    const token = String(headers?.authorization).replace('Bearer ', '')
    const proof = createHmac('sha256', 'a secret of ours').update(token).digest('hex')
    expect(new URL(path, vendor.url).searchParams.get('appsecret_proof')).toBe(proof)
  })

  it('apple answers by a cross-site POST, names the person once, and takes a signed secret', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const alias = await add('apple', {
      teamId: 'TEAM',
      keyId: 'KEY',
      clientSecret: privateKey.export({ format: 'pem', type: 'pkcs8' }),
    })
    const { broker } = realm.server.areas
    const browser = 'b'.repeat(43)
    const post = async (user?: object) => {
      const address = await realm.leave(alias)
      expect(new URL(address).searchParams.get('response_mode')).toBe('form_post')
      const person = { sub: 'apple-1', email: 'x@privaterelay.appleid.com', email_verified: 'true' }
      const form = new URL(vendor.agree(address, person)).searchParams
      if (user) form.set('user', JSON.stringify(user))
      const landing = { method: 'POST', rawQuery: '', rawBody: form.toString() } as const
      const query = await broker.receive(await realm.issuer(), alias, landing)
      const resumed = { method: 'GET', rawQuery: query ?? '', rawBody: '' } as const
      return { resumed, landing }
    }
    const finish = async (landing: Parameters<typeof broker.finish>[2], as = browser) =>
      (await broker.finish(await realm.issuer(), alias, landing, as)).identity

    const first = await post({ name: { firstName: 'Ada', lastName: 'L' }, email: 'evil@x.example' })
    // The answer waits for the browser that left.
    expect(await refusalOf(finish(first.resumed, 'c'.repeat(43)))).toMatch(/^expired/)
    expect(await finish(first.resumed)).toMatchObject({
      subject: 'apple-1',
      email: 'x@privaterelay.appleid.com',
      emailVerified: true,
      firstName: 'Ada',
    })
    expect(await refusalOf(finish(first.resumed))).toMatch(/^expired/)
    expect((await finish((await post()).resumed)).firstName).toBeUndefined()
    const { body } = vendor.requests.findLast(({ path }) => path === '/token') ?? {}
    const secret = new URLSearchParams(body).get('client_secret') ?? ''
    expect(decodeProtectedHeader(secret)).toMatchObject({ alg: 'ES256', kid: 'KEY' })
    const expected = {
      issuer: 'TEAM',
      subject: 'us',
      audience: 'https://appleid.apple.com',
      currentDate: new Date(realm.clock.now()),
    }
    await jwtVerify(secret, publicKey, expected)
  })

  it('gitlab has its username in nickname, linkedin returns no nonce and takes no verifier', async () => {
    const gitlab = await add('gitlab')
    const named = await realm.trip(gitlab, vendor, { sub: '5', nickname: 'ada' })
    expect(named.username).toBe('ada')
    const linkedin = await add('linkedin')
    vendor.lies.idToken = ({ nonce: _, ...claims }) => claims
    expect(new URL(await realm.leave(linkedin)).searchParams.has('code_challenge')).toBe(false)
    expect(await refusalOf(realm.trip(linkedin, vendor, { sub: 'l' }))).toBe('not refused')
    const { body } = vendor.requests.findLast(({ path }) => path === '/token') ?? {}
    expect(new URLSearchParams(body).get('client_secret')).toBe('a secret of ours')
    vendor.lies.idToken = (claims) => ({ ...claims, nonce: 'another' })
    expect(await refusalOf(realm.trip(linkedin, vendor, { sub: 'l' }))).toMatch(/another nonce/)
  })

  it.each([
    ['google', { prompt: 'select_account' }],
    ['microsoft', { prompt: 'login' }],
    ['gitlab', { prompt: 'login', max_age: '0' }],
    ['linkedin', {}],
  ])(
    '%s is asked for a fresh sign-in as it understands it, and does not tell when it was',
    async (name, expected) => {
      const alias = await add(name)
      const hints = { forceAuthn: true }
      const asked = new URL(await realm.leave(alias, { hints })).searchParams
      const given = ['prompt', 'max_age'].flatMap((one) => [[one, asked.get(one)]])
      expect(Object.fromEntries(given.filter(([, value]) => value !== null))).toEqual(expected)
      const ada = { sub: 'a', tid: tenant, oid: 'oid-1' }
      vendor.lies.idToken = ({ auth_time: _, ...claims }) => claims
      expect(await refusalOf(realm.trip(alias, vendor, ada, { hints }))).toBe('not refused')
      const proved = { hints: { forceAuthn: true, needsProof: true } }
      expect(await refusalOf(realm.trip(alias, vendor, ada, proved))).toMatch(/^not-fresh/)
      vendor.lies.idToken = ({ auth_time: _, ...claims }) => ({
        ...claims,
        iat: Math.floor(realm.clock.now() / 1000) - 120,
      })
      expect(await refusalOf(realm.trip(alias, vendor, ada, { hints }))).toMatch(/^not-fresh/)
      const longAgo = Math.floor(realm.clock.now() / 1000) - 600
      vendor.lies.idToken = (claims) => ({ ...claims, auth_time: longAgo })
      expect(await refusalOf(realm.trip(alias, vendor, ada, { hints }))).toMatch(/sign in again/)
    },
  )

  it.each([
    ['github', { prompt: 'select_account' }],
    ['facebook', { auth_type: 'reauthenticate' }],
  ])('%s is asked for a fresh sign-in with a parameter of its own', async (name, expected) => {
    const url = `${vendor.url}/authorize`
    const alias = await add(name, { discoveryUrl: undefined, authorizationUrl: url })
    const asked = new URL(await realm.leave(alias, { hints: { forceAuthn: true } })).searchParams
    expect(Object.fromEntries(asked)).toMatchObject(expected)
    expect(asked.has('max_age')).toBe(false)
    const proved = { forceAuthn: true, needsProof: true }
    expect(await refusalOf(realm.leave(alias, { hints: proved }))).toMatch(/^not-fresh/)
  })
})
