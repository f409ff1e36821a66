/** Unguessable values, their digests, and comparison that does not tell how far two values agree. */

import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 bytes are 256 bits: enough that a plain SHA-256 of the token may be stored and looked up. */
export function randomToken(bytes = 32): string {
  return randomBytes(bytes).toString('base64url')
}

export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex')
}

/** Compares digests: values of different length take the same path as values of the same length. */
export function constantTimeEqual(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
}
