/** RFC 7636 §4.2, method S256. */

import { createHash } from 'node:crypto'

export const pkceChallenge = (verifier: string): string =>
  createHash('sha256').update(verifier).digest('base64url')
