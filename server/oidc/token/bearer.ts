/** The access token of a request to a resource (RFC 6750 §2, RFC 9449 §7.1), and the challenge that asks for one. */

import type { FastifyRequest } from 'fastify'
import { bringsToken, type PresentedToken, tokenInHeader } from '#server/tokens/access/presented.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { insufficientScope, invalidRequest, invalidToken, type OAuthError } from '../errors.ts'
import type { Parameters } from '../parameters.ts'

/** Where a resource says who issues tokens for it (RFC 9728 §5.1). */
export const resourceMetadataPath = '/.well-known/oauth-protected-resource'

const metadataOf = ({ url }: Issuer): { readonly resourceMetadata: string } => ({
  resourceMetadata: `${url}${resourceMetadataPath}`,
})

export const noToken = (issuer: Issuer): OAuthError =>
  invalidToken('send an access token', { ...metadataOf(issuer), untried: true })

export const refuseToken = (issuer: Issuer, detail: string): OAuthError =>
  invalidToken('the access token is not good here', { detail, ...metadataOf(issuer) })

export const refuseScope = (issuer: Issuer, scope: string): OAuthError =>
  insufficientScope(`the scope ${scope} is needed`, { scope, ...metadataOf(issuer) })

/** In the header, or in the form of a POST; never in the address, which is written to logs (RFC 9700 §4.3.2). */
export const presentedToken = (
  issuer: Issuer,
  request: FastifyRequest,
  form?: Parameters,
): PresentedToken => {
  const inForm = form?.get('access_token')
  if (request.headers.authorization === undefined) {
    if (inForm === undefined) throw noToken(issuer)
    return { scheme: 'Bearer', token: inForm }
  }
  if (inForm !== undefined) throw invalidRequest('the access token is sent in more than one way')
  const presented = tokenInHeader(request)
  if (presented) return presented
  if (bringsToken(request)) throw refuseToken(issuer, 'the Authorization header is malformed')
  throw noToken(issuer)
}
