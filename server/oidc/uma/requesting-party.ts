/**
 * The requesting party of an RPT request (UMA 2.0 Grant §3.3.1): the user of an access token or id token that the request
 * shows, else the service account of the client.
 *
 * A service that received a user's token must not obtain the user's permissions elsewhere with it. The token was therefore
 * issued to the client that authenticates, or is meant for the resource server in question. One that was delegated to the client
 * is meant for the resource server.
 */

import type { FastifyRequest } from 'fastify'
import type { ResourceAnswer, ScopeAnswer } from '#server/authz/evaluation/evaluate.ts'
import { statusOf } from '#server/authz/evaluation/strategy.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { bringsToken, isHeldBy } from '#server/tokens/access/presented.ts'
import { parseScope } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import { invalidGrant, invalidRequest } from '../errors.ts'
import { isDelegated } from '../token/acting.ts'
import { presentedToken, refuseToken } from '../token/bearer.ts'
import { createLiveIdToken, type LiveIdTokenParts } from '../token/grants/exchange/live-id-token.ts'
import type { GrantContext } from '../token/grants/grant.ts'

export const idTokenFormat = 'http://openid.net/specs/openid-connect-core-1_0.html#IDToken'
const pushedClaimsFormat = 'urn:ietf:params:oauth:token-type:jwt'

export interface RequestingParty {
  readonly user: UserRow | undefined
  /** The token that speaks for the party; none where the client speaks for itself. */
  readonly token: VerifiedToken | undefined
  /** The scopes of that token. */
  readonly scope: readonly string[]
}

export interface PartyParts extends LiveIdTokenParts {
  readonly verifier: Pick<Verifier, 'accessToken' | 'idToken' | 'grant'>
}

/** The client of the access token in the header, where the request authenticates no client. */
export const clientByToken =
  ({ verifier }: Pick<PartyParts, 'verifier'>) =>
  async (issuer: Issuer, request: FastifyRequest): Promise<TokenClient | undefined> => {
    if (!bringsToken(request)) return undefined
    const verified = await verifier.accessToken(issuer, presentedToken(issuer, request).token)
    if (!verified) throw refuseToken(issuer, 'it is forged, expired or revoked')
    return verified.client
  }

/** Claims that a client pushes are checked for their form; no policy type reads them, so that they widen nothing. */
const checkPushedClaims = (claimToken: string): void => {
  try {
    const claims: unknown = JSON.parse(Buffer.from(claimToken, 'base64url').toString())
    if (typeof claims === 'object' && claims !== null && !Array.isArray(claims)) return
  } catch {
    // Told below, like any other value that is no object.
  }
  throw invalidRequest('claim_token must be a JSON object in base64url')
}

export const createReadParty = ({ verifier, grantsStore, clock }: PartyParts) => {
  const liveIdToken = createLiveIdToken({ verifier, grantsStore, clock })

  const idToken = async (context: GrantContext, value: string): Promise<RequestingParty> => {
    const token = await liveIdToken(context, value)
    if (!token)
      throw invalidGrant('the claim_token is not good', {
        detail: 'it is no id token of this client',
      })
    return { user: token.user, token, scope: token.scope }
  }

  const accessToken = async (
    { issuer, jkt }: GrantContext,
    value: string,
  ): Promise<RequestingParty> => {
    const token = await verifier.accessToken(issuer, value)
    if (!token) throw invalidGrant('the access token is not good', { detail: 'it is not alive' })
    const bound = (token.claims['cnf'] as { jkt?: unknown } | undefined)?.jkt
    if (bound !== undefined && bound !== jkt)
      throw invalidGrant('the access token is not good', { detail: 'it is bound to another key' })
    return { user: token.user, token, scope: parseScope(String(token.claims['scope'] ?? '')) }
  }

  /** The id token among the parameters; pushed claims are none. */
  const idTokenIn = ({ form }: GrantContext): string | undefined => {
    const claimToken = form.get('claim_token')
    if (claimToken === undefined) return undefined
    const format = form.get('claim_token_format')
    if (format === idTokenFormat) return claimToken
    if (format !== pushedClaimsFormat)
      throw invalidRequest(`claim_token_format must be ${idTokenFormat} or ${pushedClaimsFormat}`)
    checkPushedClaims(claimToken)
    return undefined
  }

  return async (context: GrantContext): Promise<RequestingParty> => {
    const { issuer, request, form } = context
    const inHeader = bringsToken(request) ? presentedToken(issuer, request).token : undefined
    const shown = [inHeader, form.get('subject_token')].filter((one) => one !== undefined)
    const identity = idTokenIn(context)
    const [token] = shown
    if (shown.length + (identity === undefined ? 0 : 1) > 1)
      throw invalidRequest('the requesting party is named in more than one way')
    if (identity !== undefined) return idToken(context, identity)
    if (token !== undefined) return accessToken(context, token)
    return { user: undefined, token: undefined, scope: [] }
  }
}

/** Whether the party may be asked about at this resource server by this request. */
export const isAllowedAt = (
  { client, request }: GrantContext,
  { token }: RequestingParty,
  resourceServer: TokenClient,
): boolean => {
  if (!token) return true
  const isOfClient =
    token.client.id === client.id &&
    !client.doc.publicClient &&
    !bringsToken(request) &&
    !isDelegated(token.claims['act'])
  return isHeldBy(resourceServer, token) || isOfClient
}

const withheld = (answer: ScopeAnswer): ScopeAnswer => ({
  ...answer,
  status: 'DENY',
  why: 'the delegated token does not have this scope',
})

/** A delegation gives scopes, not all that the user may do: others than those of a delegated token are denied. */
export const withinDelegation = (
  { token, scope }: Pick<RequestingParty, 'token' | 'scope'>,
  answer: ResourceAnswer,
): ResourceAnswer => {
  if (!isDelegated(token?.claims['act'])) return answer
  const scopes = answer.scopes.map((one) =>
    one.scope !== null && scope.includes(one.scope) ? one : withheld(one),
  )
  return { ...answer, status: statusOf(scopes.some(({ status }) => status === 'PERMIT')), scopes }
}
