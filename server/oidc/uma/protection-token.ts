/**
 * The caller of the protection API (UMA 2.0 Federated Authorization §1.3): a resource server, by an access token of its
 * service account or, with the scope `uma_protection`, of a user whose resources it keeps.
 *
 * A service that received some access token of the resource server must not manage its resources with it. The token is
 * therefore meant for the issuer, or has the scope and the audience that say what it is for.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Doer } from '#server/sessions/doer.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { protectionAudience } from '#server/tokens/access/audience.ts'
import { isFor } from '#server/tokens/access/presented.ts'
import { parseScope, protectionScope } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import { allowOriginOf } from '../cors.ts'
import { oauthError } from '../errors.ts'
import { doerWith } from '../token/acting.ts'
import { presentedToken, refuseScope, refuseToken } from '../token/bearer.ts'
import type { Dpop } from '../token/dpop.ts'

export interface ProtectionParts {
  readonly verifier: Pick<Verifier, 'accessToken'>
  readonly dpop: Pick<Dpop, 'checkPossession'>
}

export interface ProtectionCaller {
  /** The resource server. */
  readonly client: TokenClient
  /** The user for whom it acts; it manages this user's resources alone then. */
  readonly user: UserRow | undefined
  /** The actor of audit events: the user, the administrator who impersonates the user, or the resource server. */
  readonly doer: Doer
}

const forbidden = oauthError('access_denied', 403)
/** Nothing of the caller is at the address (UMA 2.0 Federated Authorization §3.2). */
export const notFound = oauthError('not_found', 404)

/** Throws unless the token is for the protection API: an RPT, or a token for other resources alone, is not (RFC 8707 §2.2). */
const refuseUnlessMeant = (issuer: Issuer, { claims, account }: VerifiedToken): void => {
  const isForIssuer = isFor(claims, issuer.url)
  const hasScope = parseScope(String(claims['scope'] ?? '')).includes(protectionScope)
  if (!hasScope && !(account && isForIssuer)) throw refuseScope(issuer, protectionScope)
  if (!isForIssuer && !isFor(claims, protectionAudience(issuer.url)))
    throw refuseToken(issuer, 'it is for another audience')
}

/** Throws what RFC 6750 §3 says unless the token may be used here. */
export const protectionCaller = async (
  { verifier, dpop }: ProtectionParts,
  issuer: Issuer,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ProtectionCaller> => {
  const presented = presentedToken(issuer, request)
  const verified = await verifier.accessToken(issuer, presented.token)
  if (!verified) throw refuseToken(issuer, 'it is forged, expired or revoked')
  const { client, account, user, claims } = verified
  allowOriginOf(client, request, reply)
  await dpop.checkPossession(issuer, request, { ...presented, claims, client })
  if (account && account.id !== client.id)
    throw refuseToken(issuer, 'it is of the service account of another client')
  refuseUnlessMeant(issuer, verified)
  if (!client.doc.authorizationServicesEnabled)
    throw forbidden('the client is not a resource server: set authorizationServicesEnabled')
  const doer = user ? doerWith(user.id, claims) : { actor: client.id }
  return { client, user, doer }
}

/** Managing resources is a right that the client's settings may take away. */
export const refuseUnlessManaging = ({ client }: ProtectionCaller): void => {
  if (!client.doc.authorizationSettings.allowRemoteResourceManagement)
    throw forbidden('allowRemoteResourceManagement is off: resources are configuration alone')
}
