/** Tokens of the realm are verified once, and for as long as their key is there. */

import { describe, expect, it } from 'vitest'
import type { RealmKey, RealmKeySet } from '#server/keys/realm-keys.ts'
import { createReadJwt, signJwt } from '#server/tokens/jwt.ts'

/** Its signatures are the data itself; it counts how often it is asked. */
const countingKey = (kid: string): RealmKey & { asked: number } => {
  const key = {
    kid,
    publicKey: '',
    certificate: '',
    jwk: {},
    asked: 0,
    sign: async (_alg: string, data: string) => Buffer.from(`${kid} ${data}`).toString('base64url'),
    verify: async (_alg: string, data: string, signature: Buffer) => {
      key.asked += 1
      return signature.toString() === `${kid} ${data}`
    },
  }
  return key
}

const setOf = (active: RealmKey, all = [active]): RealmKeySet => ({
  all,
  hasNext: false,
  isFirst: false,
  signerFor: () => active,
  signers: () => [active],
  find: (kid) => all.find((key) => key.kid === kid),
})

describe('reading a token of the realm', () => {
  it('verifies a signature once, and gives the same claims each time', async () => {
    const key = countingKey('k1')
    const read = createReadJwt()
    const token = await signJwt(key, 'at+jwt', 'RS256', { sub: 'ada' })
    for (let n = 0; n < 3; n += 1)
      expect(await read(setOf(key), token)).toMatchObject({ typ: 'at+jwt', claims: { sub: 'ada' } })
    expect(key.asked).toBe(1)
  })

  it('believes nothing of a key that is gone or was replaced under its name', async () => {
    const key = countingKey('k1')
    const read = createReadJwt()
    const token = await signJwt(key, 'at+jwt', 'RS256', { sub: 'ada' })
    expect(await read(setOf(key), token)).toBeDefined()
    expect(await read(setOf(countingKey('k2')), token)).toBeUndefined()
    const namesake = { ...countingKey('k1'), verify: async () => false }
    expect(await read(setOf(namesake), token)).toBeUndefined()
  })

  it('remembers only what was good, and not more than it may', async () => {
    const key = countingKey('k1')
    const read = createReadJwt(1)
    const [first, second] = await Promise.all(
      ['ada', 'bob'].map((sub) => signJwt(key, 'at+jwt', 'RS256', { sub })),
    )
    const forged = `${first?.slice(0, -4)}AAAA`
    for (const token of [forged, forged, first, second, first]) await read(setOf(key), token ?? '')
    expect(key.asked).toBe(5)
  })
})
