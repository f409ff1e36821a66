/** Public keys that a client brings: weak ones are named, all others pass. */

import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { publicKeyFault } from '#schemas/public-keys/public-keys.ts'
import { hasRocaFingerprint } from '#schemas/public-keys/roca.ts'
import { rocaModulus, weakKeys } from '../support/weak-keys.ts'

describe('a public key', () => {
  it.each(weakKeys)('is refused where it %s', (_title, jwk) => {
    expect(publicKeyFault({ ...jwk })?.code).toMatch(/^(unusable|private)-key$/)
  })

  it('is accepted where it is sound, whatever its type', () => {
    const pairs = [
      ...Array.from({ length: 5 }, () => generateKeyPairSync('rsa', { modulusLength: 2048 })),
      generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('ec', { namedCurve: 'P-521' }),
      generateKeyPairSync('ed25519'),
    ]
    for (const { publicKey } of pairs)
      expect(publicKeyFault({ ...publicKey.export({ format: 'jwk' }) })).toBeUndefined()
  })

  it('of the ROCA library is found by its published fingerprint (CVE-2017-15361)', () => {
    // The example that was published with the attack.
    const published = BigInt(
      '0x944e13208a280c37efc31c3114485e590192adbb8e11c87cad60cdef0037ce99278330d3f471a2538fa667802ed2a3c44a8b7dea826e888d0aa341fd664f7fa7',
    )
    expect(hasRocaFingerprint(published)).toBe(true)
    for (let i = 0; i < 3; i += 1) expect(hasRocaFingerprint(rocaModulus())).toBe(true)
    expect(hasRocaFingerprint(published + 2n)).toBe(false)
  })
})
