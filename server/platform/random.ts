/** Unguessable values, their digests, and comparison that does not tell how far two values agree. */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 bytes are 256 bits: enough that a plain SHA-256 of the token may be stored and looked up. */
export function randomToken(bytes = 32): string {
  return randomBytes(bytes).toString('base64url')
}

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/** Compares digests: values of different length take the same path as values of the same length. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = createHash('sha256').update(a).digest()
  const right = createHash('sha256').update(b).digest()
  return timingSafeEqual(left, right)
}
