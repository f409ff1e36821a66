/** Shared by the exchange of a token and its delegation to an agent: what a request may ask for (RFC 8693 §2.1). */

import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Authentication } from '#server/tokens/mint.ts'
import type { VerifiedToken } from '#server/tokens/verify.ts'
import { invalidRequest, invalidTarget } from '../../../errors.ts'
import type { Parameters } from '../../../parameters.ts'
import { accessTokenType, idTokenType } from './exchanged-token.ts'

export const exchangeParameters = {
  subject_token: 'The token of the subject.',
  subject_token_type: `${accessTokenType}, ${idTokenType}`,
  actor_token: 'The token of the actor.',
  actor_token_type: `${accessTokenType}, ${idTokenType}`,
  requested_token_type: `${accessTokenType}, urn:ietf:params:oauth:token-type:id-jag`,
  audience: 'The service that the token is for; may be repeated.',
}

/** No refresh token is issued: the token does not outlive the one that it was made of. */
export const checkRequested = (form: Parameters): void => {
  const type = form.get('requested_token_type')
  if (type !== undefined && type !== accessTokenType)
    throw invalidRequest(`requested_token_type must be ${accessTokenType}`)
  if (form.get('actor_token') === undefined && form.get('actor_token_type') !== undefined)
    throw invalidRequest('there is an actor_token_type and no actor_token')
}

/** Services that the client may speak to by name: those that its tokens are for anyway, and itself. */
export const allowedAudiences = (
  { clientId, doc }: TokenClient,
  form: Parameters,
): readonly string[] => {
  const wanted = form.all('audience')
  const allowed = new Set([clientId, ...doc.audiences, ...doc.allowedResources])
  if (wanted.some((one) => !allowed.has(one)))
    throw invalidTarget('the client may not ask for this audience')
  return wanted
}

/** When the first of the tokens expires that were shown, in epoch seconds: what comes of them outlives none. */
export const firstEnd = (...shown: readonly (VerifiedToken | undefined)[]): number =>
  Math.min(...shown.flatMap((token) => (token ? [Number(token.claims['exp'])] : [])))

/** How the user of a token was authenticated, for another token of the same grant. */
export const authenticationOf = (
  { grant, claims }: VerifiedToken,
  grantsStore: Pick<GrantsStore, 'dataOf'>,
): Authentication | undefined => {
  if (!grant) return undefined
  const { sid, auth_time, acr, amr } = claims
  return {
    grantId: grant.id,
    sid: sid as string | undefined,
    authTime: typeof auth_time === 'number' ? auth_time * 1000 : undefined,
    acr: acr as string | undefined,
    amr: amr as readonly string[] | undefined,
    organization: grantsStore.dataOf(grant).organization,
  }
}
