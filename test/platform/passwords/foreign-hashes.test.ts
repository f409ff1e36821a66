import { afterAll, describe, expect, it } from 'vitest'
import { formats } from '#schemas/text/formats.ts'
import type { PasswordEngine } from '#server/platform/passwords/engine.ts'
import { parseForeign, storableHash } from '#server/platform/passwords/foreign.ts'
import { createHasher, HasherBusyError } from '#server/platform/passwords/hasher.ts'
import { foreignHashes, foreignPassword } from './foreign-hashes.ts'

let own = 0
const engine: PasswordEngine = {
  name: 'counting',
  hash: async () => 'none',
  verify: async () => {
    own += 1
    return false
  },
}
const hasher = createHasher(engine, { concurrency: 2 })
afterAll(() => hasher.close())

const fill = (text: string, length: number): string => text.repeat(length).slice(0, length)
const [salt, digest] = [fill('A', 22), fill('A', 43)]

describe('hashes of other products', () => {
  it.each(Object.entries(foreignHashes))(
    '%s: the right password and no other matches',
    async (_, hash) => {
      expect(await hasher.verify(hash, foreignPassword)).toBe(true)
      expect(await hasher.verify(hash, `${foreignPassword}x`)).toBe(false)
      expect(await hasher.verify(hash, '')).toBe(false)
    },
  )

  it('are replaced once they have matched, and kept as they came until then', () => {
    for (const hash of Object.values(foreignHashes)) {
      expect(hasher.needsRehash(hash)).toBe(true)
      expect(storableHash(hash)).toBe(hash)
      expect(formats['password-hash']?.test(hash)).toBe(true)
    }
  })

  it('are refused when one verification would take all the memory or minutes', () => {
    const bearable = [
      `$2b$14$${fill('a', 53)}`,
      `$pbkdf2-sha256$i=1200000$${salt}$${digest}`,
      `$scrypt$ln=17,r=8,p=1$${salt}$${digest}`,
      `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${digest}`,
    ]
    const unbearable = [
      `$2b$15$${fill('a', 53)}`,
      `$2b$03$${fill('a', 53)}`,
      `$pbkdf2-sha256$i=4000001$${salt}$${digest}`,
      // Every block of the digest is derived on its own.
      `$pbkdf2-sha1$i=1500000$${salt}$${fill('A', 86)}`,
      `$pbkdf2-sha256$i=0$${salt}$${digest}`,
      `$scrypt$ln=18,r=8,p=1$${salt}$${digest}`,
      `$scrypt$ln=4,r=255,p=999$${salt}$${digest}`,
      `$scrypt$ln=99,r=8,p=1$${salt}$${digest}`,
      `$scrypt$ln=10,r=0,p=1$${salt}$${digest}`,
      `$argon2id$v=19$m=9999999,t=2,p=1$${salt}$${digest}`,
    ]
    expect(bearable.map(storableHash)).toEqual(bearable)
    expect(unbearable.map(storableHash)).toEqual(unbearable.map(() => undefined))
  })

  it('without salt, or with a digest that could be guessed, are none', () => {
    for (const hash of [
      `$pbkdf2-sha256$i=2000$AAAA$${digest}`,
      `$pbkdf2-sha256$i=2000$${salt}$AAAA`,
      `$pbkdf2-md5$i=2000$${salt}$${digest}`,
      `$scrypt$ln=10,r=8,p=1$${salt}$AAAA`,
      `pbkdf2_sha256$2000$$${digest}=`,
      'd41d8cd98f00b204e9800998ecf8427e',
      '',
    ])
      expect(parseForeign(hash)).toBeUndefined()
  })

  it('that cannot be read cost what ours cost', async () => {
    own = 0
    expect(await hasher.verify(`$2b$31$${fill('a', 53)}`, foreignPassword)).toBe(false)
    expect(own).toBe(1)
  })

  it('wait in the same queue as ours', async () => {
    const narrow = createHasher(engine, { concurrency: 1, maxQueued: 0 })
    const first = narrow.verify(foreignHashes['scrypt'] ?? '', foreignPassword)
    await expect(narrow.verifyDecoy('x')).rejects.toBeInstanceOf(HasherBusyError)
    expect(await first).toBe(true)
    await narrow.close()
  })
})
