/** Client keys at a `jwksUri`: fetched when needed, rotation followed, and the rate of requests limited. */

import { generateKeyPairSync } from 'node:crypto'
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTVerifyOptions,
  SignJWT,
} from 'jose'
import { describe, expect, it } from 'vitest'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { createClientKeys } from '#server/oidc/client-auth/client-keys.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { weakKeys } from '../../support/weak-keys.ts'

const jwksUri = 'https://client.example/jwks'
const client = { doc: { jwksUri } as ClientDoc } as TokenClient

interface Key {
  readonly jwk: JWK
  readonly kid: string | undefined
  readonly privateKey: CryptoKey
}
const make = async (kid?: string): Promise<Key> => {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), ...(kid && { kid }) } }
}
const setOf = (...keys: readonly Key[]): string =>
  JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })

const open = (answer: () => { status: number; body: string }) => {
  let now = 0
  const asked: string[] = []
  const clientKeys = createClientKeys({
    clock: { now: () => now },
    outgoing: {
      request: async ({ url }) => {
        asked.push(url)
        const { status, body } = answer()
        return { status, headers: {}, body: Buffer.from(body) }
      },
    },
  })
  return {
    asked,
    /** Whether what the key signed is found to be of the client; throws where it is not. */
    verify: async ({ kid, privateKey }: Key, options: JWTVerifyOptions = {}) => {
      const header = { alg: 'ES256', ...(kid && { kid }) }
      const token = await new SignJWT({}).setProtectedHeader(header).sign(privateKey)
      return clientKeys(client)(token, options)
    },
    wait: (ms: number) => {
      now += ms
    },
  }
}

const noMatch = { code: 'ERR_JWKS_NO_MATCHING_KEY' }
const noSigner = { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' }

describe('keys that a client publishes', () => {
  it('are fetched once for many assertions', async () => {
    const key = await make('a')
    const { asked, verify } = open(() => ({ status: 200, body: setOf(key) }))
    await Promise.all([verify(key), verify(key), verify(key)])
    await verify(key)
    expect(asked).toEqual([jwksUri])
  })

  it('are fetched again when a new key is used, and old ones are forgotten', async () => {
    const [before, after] = [await make('a'), await make('b')]
    let body = setOf(before)
    const { asked, verify, wait } = open(() => ({ status: 200, body }))
    await verify(before)
    body = setOf(after)
    wait(11_000)
    await verify(after)
    expect(asked.length).toBe(2)
    await expect(verify(before)).rejects.toMatchObject(noMatch)
  })

  it('are fetched again when a client rotates right after they were fetched (OIDC Core §10.1.1)', async () => {
    const keys = [await make('a'), await make('b'), await make('c')]
    let body = ''
    const { asked, verify } = open(() => ({ status: 200, body }))
    for (const key of keys) {
      body = setOf(key)
      await verify(key)
    }
    expect(asked.length).toBe(3)
  })

  it('are fetched once for many assertions with a new key', async () => {
    const [before, after] = [await make('a'), await make('b')]
    let body = setOf(before)
    const { asked, verify } = open(() => ({ status: 200, body }))
    await verify(before)
    body = setOf(after)
    await Promise.all([verify(after), verify(after), verify(after)])
    expect(asked.length).toBe(2)
  })

  it.each([
    ['keeps the id of the one before', 'same'],
    ['has no id, as the one before', undefined],
  ])('are fetched again when a new key %s', async (_title, kid) => {
    const [before, after] = [await make(kid), await make(kid)]
    let body = setOf(before)
    const { asked, verify, wait } = open(() => ({ status: 200, body }))
    await verify(before)
    body = setOf(after)
    wait(11_000)
    await verify(after)
    expect(asked.length).toBe(2)
    await expect(verify(before)).rejects.toMatchObject(noSigner)
  })

  it('are fetched again when two keys without an id become two others', async () => {
    const keys = [await make(), await make(), await make(), await make()] as const
    let body = setOf(keys[0], keys[1])
    const { verify, wait } = open(() => ({ status: 200, body }))
    await verify(keys[1])
    body = setOf(keys[2], keys[3])
    wait(11_000)
    await verify(keys[3])
  })

  it('are fetched again when one that could not be used is replaced', async () => {
    const key = await make()
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const broken = { ...publicKey.export({ format: 'jwk' }), y: 'AAAA' }
    let body = JSON.stringify({ keys: [broken] })
    const { verify, wait } = open(() => ({ status: 200, body }))
    await expect(verify(key)).rejects.toMatchObject(noMatch)
    body = setOf(key)
    wait(11_000)
    await verify(key)
  })

  it.each(weakKeys)('are left out where one %s, and the one beside it is used', async (_, weak) => {
    const key = await make()
    const { verify } = open(() => ({
      status: 200,
      body: JSON.stringify({ keys: [weak, key.jwk] }),
    }))
    await verify(key)
    const alg = weak.kty === 'RSA' ? 'RS256' : 'ES256'
    const alone = open(() => ({ status: 200, body: JSON.stringify({ keys: [weak] }) }))
    await expect(alone.verify(key, { algorithms: [alg, 'ES256'] })).rejects.toMatchObject(noMatch)
  })

  it.each([
    ['key id that is not known', 'unknown', noMatch],
    ['signature that none of them made', 'a', noSigner],
  ])('are not fetched for every %s', async (_title, kid, error) => {
    const [key, stranger] = [await make('a'), await make(kid)]
    const { asked, verify, wait } = open(() => ({ status: 200, body: setOf(key) }))
    for (let i = 0; i < 50; i += 1) await expect(verify(stranger)).rejects.toMatchObject(error)
    expect(asked.length).toBe(4)
    wait(11_000)
    for (let i = 0; i < 50; i += 1) await expect(verify(stranger)).rejects.toMatchObject(error)
    expect(asked.length).toBe(5)
  })

  it('are not fetched again for what is signed by them and wrong otherwise', async () => {
    const key = await make('a')
    const { asked, verify, wait } = open(() => ({ status: 200, body: setOf(key) }))
    await verify(key)
    wait(11_000)
    await expect(verify(key, { issuer: 'client' })).rejects.toMatchObject({ claim: 'iss' })
    expect(asked.length).toBe(1)
  })

  it.each([
    { status: 404, body: '{"keys":[]}' },
    { status: 302, body: '' },
    { status: 200, body: 'not json' },
    { status: 200, body: '{"keys":"none"}' },
  ])(
    'are none where the answer is $status $body, and are asked for again in a while',
    async (bad) => {
      const key = await make('a')
      let answer = bad
      const { asked, verify, wait } = open(() => answer)
      for (let i = 0; i < 50; i += 1)
        await expect(verify(key)).rejects.toMatchObject({ code: 'ERR_JWKS_INVALID' })
      wait(9_000)
      await expect(verify(key)).rejects.toMatchObject({ code: 'ERR_JWKS_INVALID' })
      expect(asked.length).toBe(1)
      answer = { status: 200, body: setOf(key) }
      wait(2_000)
      await verify(key)
      expect(asked.length).toBe(2)
    },
  )

  it('are those known before while the address fails, until their time is over', async () => {
    const [key, stranger] = [await make('a'), await make('b')]
    let status = 200
    const { asked, verify, wait } = open(() => ({ status, body: setOf(key) }))
    await verify(key)
    status = 503
    wait(11_000)
    await expect(verify(stranger)).rejects.toMatchObject(noMatch)
    await verify(key)
    expect(asked.length).toBe(2)
    wait(290_000)
    await expect(verify(key)).rejects.toMatchObject({ code: 'ERR_JWKS_INVALID' })
  })
})
