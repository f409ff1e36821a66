/** Unguessable values, their digests, and comparison that does not tell how far two values agree. */

import { hash, randomFillSync, timingSafeEqual } from 'node:crypto'

/** Drawn at once: a draw costs more than what most uses need of it. */
const drawn = Buffer.allocUnsafeSlow(4096)
let used = drawn.length

/** Bytes of the caller's own; nothing else keeps them. */
export function randomBytes(length: number): Buffer {
  if (length > drawn.length) return randomFillSync(Buffer.allocUnsafeSlow(length))
  if (used + length > drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  const bytes = Buffer.allocUnsafeSlow(length)
  drawn.copy(bytes, 0, used, used + length)
  drawn.fill(0, used, used + length)
  used += length
  return bytes
}

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
