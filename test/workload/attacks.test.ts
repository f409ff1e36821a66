/** JWTs that are not what they claim to be: each is refused with the same bytes, whatever is wrong with it. */

import fc from 'fast-check'
import { exportSPKI, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import {
  audience,
  type Exchanged,
  openWorkloadSite,
  subject,
  type WorkloadSite,
} from './fixture.ts'
import { makeKey } from './platform.ts'

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

describe.each(anyBackend)('forged workload JWTs on $name', (backend) => {
  let world: WorkloadSite

  beforeAll(async () => {
    world = await openWorkloadSite(backend)
    // The keys are known: no cause differs by a fetch.
    expect((await world.exchange(await world.jwt())).status).toBe(200)
  })
  afterAll(() => world.close())

  /** A JWT whose payload is this text, with a good signature. */
  const signText = async (payload: string): Promise<string> => {
    const { CompactSign } = await import('jose')
    const [key] = world.platform.keys
    if (!key) throw new Error('no key')
    return new CompactSign(Buffer.from(payload))
      .setProtectedHeader({ alg: key.alg, kid: key.kid })
      .sign(key.pair.privateKey)
  }

  const attacks: Readonly<Record<string, () => Promise<string>>> = {
    'alg none': async () => `${encode({ alg: 'none' })}.${encode(world.claims())}.`,
    'alg none with a signature': async () => {
      const [, body, signature] = (await world.jwt()).split('.')
      return `${encode({ alg: 'none' })}.${body}.${signature}`
    },
    'HS256 with the public key as secret': async () => {
      const [key] = world.platform.keys
      if (!key) throw new Error('no key')
      const secret = Buffer.from(await exportSPKI(key.pair.publicKey))
      return new SignJWT(world.claims())
        .setProtectedHeader({ alg: 'HS256', kid: key.kid })
        .sign(secret)
    },
    'PS256, which is not on the list': async () => {
      const key = await makeKey('PS256')
      return world.platform.sign(world.claims(), {}, key)
    },
    'another key under the same kid': async () => {
      const key = await makeKey('ES256', world.platform.keys[0]?.kid)
      return world.platform.sign(world.claims(), {}, key)
    },
    'a kid that is a path': async () =>
      world.platform.sign(world.claims(), { kid: '../../../../dev/null' }, await makeKey()),
    'a kid that is an address': async () =>
      world.platform.sign(world.claims(), { kid: world.platform.jwksUri }, await makeKey()),
    'a jku of the attacker': async () =>
      world.platform.sign(world.claims(), { jku: 'https://evil.example/jwks' }, await makeKey()),
    'a jku, though the signature is good': () => world.jwt({}, { jku: world.platform.jwksUri }),
    'an x5u, though the signature is good': () =>
      world.jwt({}, { x5u: 'https://evil.example/chain' }),
    'an embedded jwk': async () => {
      const key = await makeKey()
      return world.platform.sign(world.claims(), { jwk: key.jwk }, key)
    },
    crit: () => world.jwt({}, { crit: ['b64'], b64: true }),
    'a claim twice': () =>
      signText(JSON.stringify(world.claims()).replace('{', '{"sub":"repo:evil/shop",')),
    'a claim twice, once with escapes': () =>
      signText(JSON.stringify(world.claims()).replace('{', '{"s\\u0075b":"repo:evil/shop",')),
    'a payload that is no object': () => signText('[]'),
    'an audience list with ours and another': () =>
      world.jwt({ aud: [audience, 'https://other.example'] }),
    'an audience list with ours twice': () => world.jwt({ aud: [audience, audience] }),
    'another audience': () => world.jwt({ aud: 'https://other.example' }),
    'no audience': () => world.jwt({ aud: undefined }),
    'an audience that ours begins': () => world.jwt({ aud: `${audience}.evil.example` }),
    'another issuer': () => world.jwt({ iss: 'https://unknown.example' }),
    'an issuer with a slash': () => world.jwt({ iss: `${world.platform.issuer}/` }),
    'a subject with a space': () => world.jwt({ sub: `${subject} ` }),
    'a subject with a NUL': () => world.jwt({ sub: `${subject}\0` }),
    'a subject with a homoglyph': () => world.jwt({ sub: subject.replace('a', '\u0430') }),
    'a subject in upper case': () => world.jwt({ sub: subject.toUpperCase() }),
    'a subject with a wildcard': () => world.jwt({ sub: 'repo:*' }),
    'a subject that is a list': () => world.jwt({ sub: [subject] as unknown as string }),
    'no exp': () => world.jwt({ exp: undefined }),
    'no iat': () => world.jwt({ iat: undefined }),
    'exp as text': () => world.jwt({ exp: '9999999999' as unknown as number }),
    'an exp in the far future': () => world.jwt({ exp: 99_999_999_999 }),
    expired: () => world.jwt({ exp: Math.floor(world.clock.now() / 1000) - 120 }),
    'a JWE': async () => ['e30', 'e30', 'e30', 'e30', 'e30'].join('.'),
    'padding in the signature': async () => `${await world.jwt()}=`,
    garbage: async () => 'garbage',
    nothing: async () => '',
  }

  const headersOf = ({ headers: { date: _, 'x-request-id': __, ...others } }: Exchanged) => others

  it('every cause has the same status, bytes and headers', async () => {
    const first = await world.exchange('garbage')
    expect(first.status).toBe(401)
    expect(first.text).toBe('{"error":"invalid_client"}')
    expect(first.headers).toMatchObject({ 'cache-control': 'no-store' })
    await Promise.all(
      Object.entries(attacks).map(async ([name, make]) => {
        const answer = await world.exchange(await make())
        expect([answer.status, answer.text], name).toEqual([401, first.text])
        expect(headersOf(answer), name).toEqual(headersOf(first))
      }),
    )
    // The world is as it was: a good JWT is accepted still.
    expect((await world.exchange(await world.jwt())).status).toBe(200)
  })

  it('a request that is wrong in itself is refused in the same way', async () => {
    const good = await world.jwt()
    const { app } = world.site.server
    const wrong: Readonly<Record<string, Promise<Exchanged>>> = {
      'another grant type': world.exchange(good, { grant_type: 'client_credentials' }),
      'another token type': world.exchange(good, {
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      }),
      'another wish': world.exchange(good, {
        requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token',
      }),
    }
    for (const [name, answer] of Object.entries(wrong))
      expect([(await answer).status, (await answer).text], name).toEqual([
        401,
        '{"error":"invalid_client"}',
      ])
    const url = '/realms/acme/workload-identity/token'
    const form = 'application/x-www-form-urlencoded'
    const bodies: Readonly<Record<string, [string, string]>> = {
      'a JWT of a megabyte': [form, `subject_token=${'a'.repeat(1_048_576)}`],
      'a parameter twice': [
        form,
        `${new URLSearchParams({ subject_token: good })}&subject_token=x`,
      ],
      'no form': ['application/json', '{}'],
      nothing: [form, ''],
    }
    await Promise.all(
      Object.entries(bodies).map(async ([name, [type, payload]]) => {
        const answer = await app.inject({
          method: 'POST',
          url,
          remoteAddress: '198.19.0.1',
          headers: { 'content-type': type },
          payload,
        })
        expect([answer.statusCode, answer.body], name).toEqual([401, '{"error":"invalid_client"}'])
      }),
    )
  })

  it('no change of one claim, and no change of one byte, gets a token', async () => {
    const claim = fc.constantFrom('iss', 'sub', 'aud')
    const texts = fc.sample(fc.tuple(claim, fc.string({ unit: 'binary', maxLength: 20 })), 30)
    const good = await world.jwt()
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const bytes = fc.sample(fc.tuple(fc.nat(good.length - 1), fc.constantFrom(...alphabet)), 50)
    const changed = [
      ...(await Promise.all(
        texts.map(([name, text]) => {
          const changes: JWTPayload = { [name]: `${world.claims()[name]}${text || ' '}` }
          return world.jwt(changes)
        }),
      )),
      ...bytes.map(([at, letter]) => `${good.slice(0, at)}${letter}${good.slice(at + 1)}`),
    ].filter((jwt) => jwt !== good)
    // Many refusals take as long as one.
    const answers = await Promise.all(changed.map((jwt) => world.exchange(jwt)))
    for (const [i, { status }] of answers.entries()) expect(status, changed[i]).toBe(401)
  })

  it.each(['PS256', 'PS512', 'EdDSA'])(
    'a good signature with %s, which is not on the list, is refused',
    async (alg) => {
      const { platform } = world
      const before = platform.keys
      const { jwk, ...key } = await makeKey(alg)
      // As sets publish it: for whatever algorithm its type allows.
      const { alg: _, ...published } = jwk
      platform.keys = [...before, { ...key, jwk: published }]
      world.clock.advance(11)
      const refused = await world.exchange(await world.jwt())
      platform.keys = before
      expect([refused.status, refused.text]).toEqual([401, '{"error":"invalid_client"}'])
      expect((await world.exchange(await world.jwt())).status).toBe(200)
    },
  )

  it('a disabled credential, client or realm gives no token', async () => {
    const { site } = world
    const doc = (await site.admin('GET', '/workload-identity/shop')).body
    await site.admin('PUT', '/workload-identity/shop', { ...doc, enabled: false })
    expect((await world.exchange(await world.jwt())).status).toBe(401)
    await site.admin('PUT', '/workload-identity/shop', { ...doc, enabled: true })
    expect((await world.exchange(await world.jwt())).status).toBe(200)
    const client = (await site.admin('GET', '/clients/deployer')).body
    await site.admin('PUT', '/clients/deployer', { ...client, enabled: false })
    expect((await world.exchange(await world.jwt())).status).toBe(401)
    await site.admin('PUT', '/clients/deployer', { ...client, enabled: true })
    await site.admin('PUT', '/settings', { enabled: false })
    expect((await world.exchange(await world.jwt())).status).toBe(404)
    await site.admin('PUT', '/settings', { enabled: true })
  })

  it('a client whose tokens are bound to keys gets none that is not (RFC 9449)', async () => {
    const { site } = world
    const client = (await site.admin('GET', '/clients/deployer')).body
    await site.admin('PUT', '/clients/deployer', { ...client, dpopBoundAccessTokens: true })
    expect((await world.exchange(await world.jwt())).status).toBe(401)
    await site.admin('PUT', '/clients/deployer', { ...client, dpopBoundAccessTokens: false })
    expect((await world.exchange(await world.jwt())).status).toBe(200)
  })

  it('a credential of another realm is none of this one', async () => {
    await world.site.server.createRealm('elsewhere')
    expect((await world.exchange(await world.jwt(), {}, { realm: 'elsewhere' })).status).toBe(401)
  })
})
