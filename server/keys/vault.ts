/** Secrets of documents at rest: sealed under the master key, or as a keyed hash where comparing is enough. */

import { createSecretKey, timingSafeEqual } from 'node:crypto'
import type { SecretMark } from '#schemas/json-schema.ts'
import { constantTimeEqual } from '#server/platform/random.ts'
import { hmacSha256, type Keyring } from '#server/platform/sealing.ts'
import type { StoredSecret } from '#server/storage/documents/document.ts'

/** Where a secret belongs: it does not open anywhere else. */
export interface Place {
  readonly realm: string
  readonly kind: string
  readonly id: string
}

export interface Vault {
  store(place: Place, pointer: string, mark: SecretMark, plain: string): StoredSecret
  matches(place: Place, pointer: string, stored: StoredSecret | undefined, plain: string): boolean
  /** The value again, or null where only its hash is kept. */
  reveal(place: Place, pointer: string, stored: StoredSecret): string | null
}

export const secretContext = ({ realm, kind, id }: Place, pointer: string): string =>
  `${realm}/${kind}/${id}${pointer}`

/** The length of a digest is not secret. */
const sameDigest = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/**
 * `hashKey` is random and itself sealed under the master key rather than derived from it: a rotated master key
 * must not invalidate every client secret.
 */
export const createVault = (keyring: Keyring, hashKey: Uint8Array): Vault => {
  const key = createSecretKey(hashKey)
  const hash = (context: string, plain: string): string => hmacSha256(key, `${context}\n${plain}`)
  return {
    store: (place, pointer, mark, plain) => {
      const context = secretContext(place, pointer)
      return mark.store === 'verify' ? { hmac: hash(context, plain) } : keyring.seal(plain, context)
    },
    matches: (place, pointer, stored, plain) => {
      if (!stored) return false
      const context = secretContext(place, pointer)
      return 'hmac' in stored
        ? sameDigest(stored.hmac, hash(context, plain))
        : constantTimeEqual(keyring.open(stored, context), plain)
    },
    reveal: (place, pointer, stored) =>
      'hmac' in stored ? null : keyring.open(stored, secretContext(place, pointer)),
  }
}
