/** PKCE (RFC 7636 §4.3): S256 or nothing, and never nothing for a public client or one that asks for it. */

import type { Step } from '../authorize-request.ts'
import { invalidRequest } from '../errors.ts'

const challengeSyntax = /^[A-Za-z0-9_-]{43}$/

export const pkce: Step = ({ client, parameters }) => {
  const codeChallenge = parameters.get('code_challenge')
  const method = parameters.get('code_challenge_method')
  if (codeChallenge === undefined) {
    if (method !== undefined) throw invalidRequest('code_challenge_method without code_challenge')
    if (client.doc.publicClient || client.doc.requirePkce)
      throw invalidRequest('this client must use PKCE')
    return {}
  }
  // A missing method means `plain`.
  if (method !== 'S256') throw invalidRequest('the code_challenge_method must be S256')
  if (!challengeSyntax.test(codeChallenge))
    throw invalidRequest('the code_challenge is not a SHA-256 digest in base64url')
  return { codeChallenge }
}
