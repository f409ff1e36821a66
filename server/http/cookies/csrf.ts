/**
 * CSRF tokens that need no storage: a keyed digest of what the request is bound to, the session id or the id
 * of the pre-login cookie. A new session has a new token by itself, and a token planted by another site
 * fits no binding.
 */

import { createHmac, createSecretKey } from 'node:crypto'
import { constantTimeEqual } from '#server/platform/random.ts'

export interface Csrf {
  tokenFor(binding: string): string
  /** `given` is whatever the header or the form field held. */
  matches(binding: string, given: unknown): boolean
}

export const createCsrf = (bytes: Uint8Array): Csrf => {
  if (bytes.length < 32) throw new RangeError('a CSRF key has at least 32 bytes')
  const key = createSecretKey(bytes)
  const tokenFor = (binding: string): string =>
    createHmac('sha256', key).update('csrf/v1\0').update(binding).digest('base64url')
  return {
    tokenFor,
    matches: (binding, given) =>
      typeof given === 'string' && constantTimeEqual(tokenFor(binding), given),
  }
}
