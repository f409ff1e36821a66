import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { loadArgon2Engine, loadEngine } from '#server/platform/passwords/engine.ts'
import { formatPhc, parsePhc } from '#server/platform/passwords/phc.ts'

const engines = [await loadEngine(), await loadArgon2Engine()]
const pairs = engines.flatMap((maker) => engines.map((verifier) => ({ maker, verifier })))

afterAll(async () => {
  for (const engine of engines) await engine.close?.()
})

describe('the password engine', () => {
  it('is the accelerated one where it installs', () => {
    expect(engines.map(({ name }) => name)).toEqual(['@node-rs/argon2', 'argon2'])
  })
})

describe.each(engines)('$name', (engine) => {
  it('makes Argon2id hashes of 19 MiB, 2 passes, 1 lane, in the standard order', async () => {
    const phc = await engine.hash('correct horse battery staple')
    expect(phc).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  })

  it('salts: the same password twice gives two hashes', async () => {
    expect(await engine.hash('same')).not.toBe(await engine.hash('same'))
  })

  it.each([
    ['Argon2i', '$argon2i$v=19$m=64,t=3,p=1$'],
    ['Argon2d', '$argon2d$v=19$m=64,t=3,p=1$'],
    ['version 16', '$argon2id$v=16$m=64,t=3,p=1$'],
    ['no version', '$argon2id$m=64,t=3,p=1$'],
    ['several lanes', '$argon2id$v=19$m=64,t=3,p=4$'],
    ['the shortest salt and digest', '$argon2id$v=19$m=8,t=1,p=1$', 8, 16],
    ['the longest salt and digest', '$argon2id$v=19$m=8,t=1,p=1$', 48, 64],
  ])('takes a hash with %s for a hash', async (_, start, salt = 16, digest = 32) => {
    const text = (bytes: number) => randomBytes(bytes).toString('base64').replace(/=+$/, '')
    expect(parsePhc(`${start}${text(salt)}$${text(digest)}`)).toBeDefined()
    expect(await engine.verify(`${start}${text(salt)}$${text(digest)}`, 'password')).toBe(false)
  })

  it('lets no malformed hash match or throw', async () => {
    const good = await engine.hash('password')
    const malformed = [
      '',
      'password',
      '$',
      '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy',
      '$argon2id$v=19$m=19456,t=2,p=1$$',
      '$argon2id$v=19$m=19456,t=2,p=1',
      good.slice(0, -1),
      `${good}A`,
      `${good}\n`,
      ` ${good}`,
      good.replace('v=19', 'v=20'),
      good.replace('t=2', 't=0'),
      good.replace('t=2', 'm=2'),
      good.replace('t=2', 't=-2'),
      good.replace('t=2', 't=2,t=2'),
      good.replace('p=1', 'p=1,data=AAAA'),
      good.replace('p=1', 'p=0'),
      good.replace('p=1', 'p=255'),
      good.replace('m=19456', 'm=4'),
      good.replace('argon2id', 'argon2x'),
    ]
    for (const phc of malformed) {
      expect({ phc, matches: await engine.verify(phc, 'password') }).toEqual({
        phc,
        matches: false,
      })
    }
  })

  it('refuses a hash that asks for unreasonable memory or time', async () => {
    const good = await engine.hash('password')
    for (const cost of ['m=4194304,t=1,p=1', 'm=9999999,t=9999999,p=1', 'm=65536,t=999,p=1']) {
      expect(await engine.verify(good.replace('m=19456,t=2,p=1', cost), 'password')).toBe(false)
    }
  })
})

describe.each(pairs)('a hash of $maker.name verified by $verifier.name', ({ maker, verifier }) => {
  it.each(['password', 'pässwörd 🔑', 'x'.repeat(1024), ''])(
    'matches its password only',
    async (text) => {
      const phc = await maker.hash(text)
      expect(await verifier.verify(phc, text)).toBe(true)
      expect(await verifier.verify(phc, `${text}x`)).toBe(false)
    },
  )
})

describe('a PHC string', () => {
  it('is read in either order of parameters and written in the standard one', () => {
    const salt = 'c29tZXNhbHRzb21lc2FsdA'
    const digest = 'A'.repeat(43)
    const parsed = parsePhc(`$argon2id$v=19$m=65536,p=4,t=3$${salt}$${digest}`)
    expect(parsed).toMatchObject({ memory: 65_536, passes: 3, lanes: 4 })
    expect(parsed && formatPhc(parsed)).toBe(`$argon2id$v=19$m=65536,t=3,p=4$${salt}$${digest}`)
  })
})
