import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  deriveKey,
  hmacSha256,
  keyringFrom,
  MasterKeyError,
  parseMasterKeys,
  SealError,
} from '#server/platform/sealing.ts'

const context = 'acme/webhook/0190b1c2/secret'
const thrownBy = (act: () => unknown): unknown => {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}

describe('a sealed value', () => {
  const first = randomBytes(32)
  const second = randomBytes(32)
  const keyring = keyringFrom([first])

  it.each(['', 'hunter2', 'pässwörd 🔑', 'x'.repeat(100_000)])(
    'opens to what was sealed',
    (text) => {
      expect(keyring.open(keyring.seal(text, context), context)).toBe(text)
    },
  )

  it('is different each time, and names the key that sealed it', () => {
    const one = keyring.seal('same', context)
    const two = keyring.seal('same', context)
    expect(one.v).not.toBe(two.v)
    expect(one.kid).toMatch(/^[0-9a-f]{8}$/)
    expect(one.kid).toBe(keyring.activeKid)
  })

  it('does not open in another context', () => {
    const sealed = keyring.seal('hunter2', context)
    const error = thrownBy(() => keyring.open(sealed, 'other/webhook/0190b1c2/secret'))
    expect(error).toBeInstanceOf(SealError)
  })

  it('does not open with any bit of it flipped', () => {
    const sealed = keyring.seal('hunter2', context)
    const bytes = Buffer.from(sealed.v, 'base64')
    for (let at = 0; at < bytes.length; at += 1) {
      const altered = Buffer.from(bytes)
      altered[at] = (altered[at] ?? 0) ^ 1
      const value = { kid: sealed.kid, v: altered.toString('base64') }
      expect(() => keyring.open(value, context)).toThrow(SealError)
    }
  })

  it('does not open when cut short, and a shorter tag is not accepted', () => {
    const bytes = Buffer.from(keyring.seal('hunter2', context).v, 'base64')
    for (const length of [0, 11, 12, 16, 27, bytes.length - 1]) {
      const v = bytes.subarray(0, length).toString('base64')
      expect(() => keyring.open({ kid: keyring.activeKid, v }, context)).toThrow(SealError)
    }
  })

  it('names an unknown key, and neither content nor keys', () => {
    const sealed = keyringFrom([second]).seal('hunter2', context)
    const error = thrownBy(() => keyring.open(sealed, context))
    expect(error).toBeInstanceOf(SealError)
    expect(String(error)).toContain(sealed.kid)
    expect(String(error)).not.toContain('hunter2')
    expect(String(error)).not.toContain(sealed.v)
  })

  it('opens under an old key after rotation, and asks to be sealed anew', () => {
    const sealed = keyring.seal('hunter2', context)
    const rotated = keyringFrom([second, first])
    expect(rotated.open(sealed, context)).toBe('hunter2')
    expect(rotated.isCurrent(sealed)).toBe(false)
    const anew = rotated.seal('hunter2', context)
    expect(rotated.isCurrent(anew)).toBe(true)
    expect(keyringFrom([second]).open(anew, context)).toBe('hunter2')
  })

  it('is not sealed with the master key itself', () => {
    expect(deriveKey(first, 'iamctl/sealing/v1')).not.toEqual(new Uint8Array(first))
  })
})

describe('a master key', () => {
  const key = Buffer.from('fbf0e1d2c3b4a5968778695a4b3c2d1e0ffeeddccbbaa99887766554433221ff', 'hex')

  it.each(['base64', 'base64url', 'hex'] as const)('is read as %s', (encoding) => {
    expect(parseMasterKeys(key.toString(encoding))).toEqual([key])
  })

  it('may stand beside others, separated by white space or commas, the first one first', () => {
    const other = randomBytes(32)
    const text = `\n${key.toString('base64')}, ${other.toString('hex')}\r\n${key.toString('base64url')}\n`
    expect(parseMasterKeys(text)).toEqual([key, other, key])
  })

  it.each([
    ['an empty text', ' \n'],
    ['31 bytes', key.subarray(1).toString('base64')],
    ['33 bytes', Buffer.concat([key, key]).subarray(0, 33).toString('base64')],
    ['a character outside the alphabet', `!${key.toString('base64').slice(1)}`],
    ['both alphabets at once', `+_${key.toString('base64').slice(2)}`],
    ['loose bits at the end', `${key.toString('base64url').slice(0, 42)}9`],
    ['a passphrase', 'correct-horse-battery-staple'],
    ['a placeholder', '0'.repeat(64)],
  ])('is refused as %s, without being shown', (_, text) => {
    const error = thrownBy(() => parseMasterKeys(text))
    expect(error).toBeInstanceOf(MasterKeyError)
    for (let at = 0; at + 6 <= text.trim().length; at += 6) {
      expect(String(error)).not.toContain(text.slice(at, at + 6))
    }
  })

  it('says which of several is wrong', () => {
    expect(() => parseMasterKeys(`${key.toString('hex')} nonsense`)).toThrow('master key 2 of 2')
  })

  it('is needed', () => {
    expect(() => keyringFrom([])).toThrow(MasterKeyError)
    expect(() => keyringFrom([randomBytes(16)])).toThrow(MasterKeyError)
  })
})

describe('derived keys', () => {
  it('follow HKDF-SHA-256 (RFC 5869) and differ by purpose and root', () => {
    const root = new Uint8Array(32).fill(7)
    const key = deriveKey(root, 'client-secrets')
    expect(key).toHaveLength(32)
    expect(deriveKey(root, 'client-secrets')).toEqual(key)
    expect(deriveKey(root, 'other')).not.toEqual(key)
    expect(deriveKey(new Uint8Array(32).fill(8), 'client-secrets')).not.toEqual(key)
  })

  it('make HMAC-SHA-256 digests (RFC 4231 case 2)', () => {
    const digest = hmacSha256(Buffer.from('Jefe'), 'what do ya want for nothing?')
    expect(Buffer.from(digest, 'base64url').toString('hex')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })
})
