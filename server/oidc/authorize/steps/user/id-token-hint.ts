/** `id_token_hint` (OIDC Core §3.1.2.1): an id token that this realm made for this client, expired or not. */

import type { Verifier } from '#server/tokens/verify.ts'
import { invalidRequest } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'

export const idTokenHint =
  (verifier: Pick<Verifier, 'idToken'>): Step =>
  async ({ issuer, client, parameters }, { subject }) => {
    const hint = parameters.get('id_token_hint')
    if (hint === undefined) return {}
    const token = await verifier.idToken(issuer, hint)
    if (token?.aud !== client.clientId)
      throw invalidRequest('the id_token_hint is not an id token for this client')
    if (subject !== undefined && subject !== token.sub)
      throw invalidRequest('the id_token_hint and the claims parameter name different users')
    return { subject: token.sub }
  }
