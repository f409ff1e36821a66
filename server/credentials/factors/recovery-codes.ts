/**
 * Recovery codes: each lets its user in once in place of a second factor. 60 random bits a code need no slow hash;
 * the salt of the set keeps one guess from being tried on many users at once.
 */

import { randomBytes } from 'node:crypto'
import { hmacSha256 } from '#server/platform/sealing.ts'

/** What is stored. A code that was used leaves the list. */
export interface RecoveryCodeSet {
  /** Base64url. */
  readonly salt: string
  readonly digests: readonly string[]
}

/** Crockford's base32: no letter that could be taken for a digit. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE_LENGTH = 12
const SALT_BYTES = 16

/** As it is shown: `7K3M-Q0ZT-9XWB`. */
export const newRecoveryCode = (): string =>
  Array.from(randomBytes(CODE_LENGTH), (byte) => alphabet[byte & 31])
    .join('')
    .replace(/.{4}(?=.)/g, '$&-')

/** Of a code as a person types it: case, spaces and dashes do not count, and look-alikes are the digit. */
export const recoveryCodeDigest = (salt: string, code: string): string =>
  hmacSha256(
    Buffer.from(salt, 'base64url'),
    code.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1'),
  )

export const recoveryCodeSet = (codes: readonly string[]): RecoveryCodeSet => {
  const salt = randomBytes(SALT_BYTES).toString('base64url')
  return { salt, digests: codes.map((code) => recoveryCodeDigest(salt, code)) }
}
