/**
 * Secrets at rest: AES-256-GCM under a master key, bound to the place where they are stored. A value
 * copied to another record does not open there, because its context is authenticated with it.
 */

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { randomBytes } from './random.ts'

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

export interface SealedValue {
  /** Which master key sealed it. */
  kid: string
  /** Base64 of iv | tag | ciphertext. */
  v: string
}

export interface Keyring {
  readonly activeKid: string
  /** `context` names the place, e.g. `acme/webhook/<id>/secret`; opening needs the same one. */
  seal(plain: string, context: string): SealedValue
  open(sealed: SealedValue, context: string): string
  /** False when the value should be sealed again because a newer key is active. */
  isCurrent(sealed: SealedValue): boolean
}

/** A master key that cannot be used. The message never holds any part of a key. */
export class MasterKeyError extends Error {
  override readonly name = 'MasterKeyError'
}

/** A sealed value that does not open. The message names the key id, never content. */
export class SealError extends Error {
  override readonly name = 'SealError'
  readonly kid: string

  constructor(kid: string, reason: string) {
    super(`cannot open a value sealed under master key ${kid}: ${reason}`)
    this.kid = kid
  }
}

/** The first key seals, all of them open. */
export function keyringFrom(keys: readonly Uint8Array[]): Keyring {
  const sealingKeys = new Map<string, KeyObject>()
  for (const key of keys) {
    if (key.length !== KEY_BYTES) throw new MasterKeyError(`a master key has ${KEY_BYTES} bytes`)
    const kid = keyId(key)
    // Derived, so that the master key itself meets no data and may serve other purposes.
    const sealingKey = createSecretKey(deriveKey(key, 'iamctl/sealing/v1'))
    const namesake = sealingKeys.get(kid)
    if (namesake !== undefined && !sealingKey.equals(namesake)) {
      throw new MasterKeyError(`two master keys have the id ${kid}: make another one`)
    }
    sealingKeys.set(kid, sealingKey)
  }
  const [active] = sealingKeys
  if (active === undefined) throw new MasterKeyError('no master key is given')
  const [activeKid, activeKey] = active

  return Object.freeze({
    activeKid,
    seal(plain: string, context: string): SealedValue {
      return { kid: activeKid, v: encrypt(activeKey, plain, context) }
    },
    open(sealed: SealedValue, context: string): string {
      const key = sealingKeys.get(sealed.kid)
      if (key === undefined) {
        const known = [...sealingKeys.keys()].join(', ')
        throw new SealError(sealed.kid, `that key is not loaded (loaded: ${known})`)
      }
      return decrypt(key, sealed, context)
    },
    isCurrent: (sealed: SealedValue) => sealed.kid === activeKid,
  })
}

/**
 * Under a key of its own, for values whose key is to be destroyed one day: base64 of iv | tag | ciphertext. A key object
 * is faster where one key is used often: raw bytes are imported at each use.
 */
export function encrypt(key: Uint8Array | KeyObject, plain: string, context: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context))
  const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64')
}

/** Throws a SealError, also where it was sealed in another context. */
export function decrypt(key: Uint8Array | KeyObject, sealed: SealedValue, context: string): string {
  const bytes = Buffer.from(sealed.v, 'base64')
  if (bytes.length < IV_BYTES + TAG_BYTES) throw new SealError(sealed.kid, 'it is cut short')
  const tagEnd = IV_BYTES + TAG_BYTES
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(IV_BYTES, tagEnd))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]).toString()
  } catch {
    throw new SealError(sealed.kid, 'it was altered or belongs to another record')
  }
}

function keyId(key: Uint8Array): string {
  return createHash('sha256').update('iamctl/master-key/kid').update(key).digest('hex').slice(0, 8)
}

/** One or more 32-byte keys as base64, base64url or hex, separated by white space or commas. */
export function parseMasterKeys(text: string): Uint8Array[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== '')
  if (words.length === 0) throw new MasterKeyError('no master key is given: the text is empty')
  return words.map((word, index) => {
    const key = decodeKey(word)
    const which = `master key ${index + 1} of ${words.length}`
    if (key === undefined) {
      throw new MasterKeyError(
        `${which} is not ${KEY_BYTES} bytes as base64, base64url or hex; make one with: openssl rand -base64 ${KEY_BYTES}`,
      )
    }
    if (key.every((byte) => byte === key[0])) {
      throw new MasterKeyError(`${which} is a placeholder: all its bytes are the same`)
    }
    return key
  })
}

function decodeKey(word: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(word)) return Buffer.from(word, 'hex')
  const digits = word.replace(/=$/, '')
  for (const encoding of ['base64', 'base64url'] as const) {
    const key = Buffer.from(digits, encoding)
    // Decoding skips what it does not know; only a text that comes back unchanged was a key.
    if (key.length === KEY_BYTES && key.toString(encoding).replace(/=$/, '') === digits) return key
  }
  return undefined
}

/**
 * A key for one purpose from a root secret (HKDF-SHA-256, RFC 5869). Digests made under a derived key
 * cannot be computed again, so their root must outlive master keys: keep a root secret sealed in the
 * database, where rotation seals it again without changing it.
 */
export function deriveKey(root: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', root, new Uint8Array(0), purpose, KEY_BYTES))
}

export function hmacSha256(key: Uint8Array | KeyObject, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}
