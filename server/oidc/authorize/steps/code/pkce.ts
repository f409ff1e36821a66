/** PKCE (RFC 7636 §4.3): S256 or nothing, and never nothing for a public client or one that asks for it. */

import { isBase64url } from '#server/platform/base64url.ts'
import { invalidRequest } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'

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
  if (codeChallenge.length !== 43 || !isBase64url(codeChallenge))
    throw invalidRequest('the code_challenge is not a SHA-256 digest in base64url')
  return { codeChallenge }
}
