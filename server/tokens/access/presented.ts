/** The access token of a request, and whether a resource accepts it: its audience and its subject. */

import type { FastifyRequest } from 'fastify'
import type { Claims } from '../claims/mapper.ts'
import type { TokenClient } from '../client.ts'
import type { Issuer } from '../issuers.ts'
import type { VerifiedToken } from '../verify.ts'

export interface PresentedToken {
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string
}

type WithHeaders = Pick<FastifyRequest, 'headers'>

/** RFC 6750 §2.1, RFC 9449 §7.1. */
const header = /^(bearer|dpop) +([A-Za-z0-9\-._~+/]+=*)$/i

/** Whether the header is that of a token, well-formed or not. */
export const bringsToken = ({ headers: { authorization } }: WithHeaders): boolean =>
  /^(bearer|dpop)\b/i.test(authorization ?? '')

/** Undefined where the header is missing, of another scheme, or malformed. */
export const tokenInHeader = ({
  headers: { authorization },
}: WithHeaders): PresentedToken | undefined => {
  const [, scheme = '', token] = header.exec(authorization ?? '') ?? []
  if (token === undefined) return undefined
  return { scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer', token }
}

/** The token of the scheme Bearer alone, where no proof of a key is taken. */
export const bearerIn = (request: WithHeaders): string | undefined => {
  const presented = tokenInHeader(request)
  return presented?.scheme === 'Bearer' ? presented.token : undefined
}

/** As the request spells it, whatever its parameters are: `/realms/{realm}` is the issuer's. A proof is about it (RFC 9449 §4.3). */
export const requestAddress = (
  { url }: Pick<Issuer, 'url'>,
  request: Pick<FastifyRequest, 'url'>,
): string => {
  const [path = ''] = request.url.split('?')
  return [url, ...path.split('/').slice(3)].join('/')
}

/** Whether the audience names the resource (RFC 9068 §4). */
export const isFor = ({ aud }: Claims, audience: string): boolean =>
  Array.isArray(aud) ? aud.includes(audience) : aud === audience

/** Whether the token was issued to the client, or is meant for it. */
export const isHeldBy = (
  { clientId }: TokenClient,
  { claims, client }: Pick<VerifiedToken, 'claims' | 'client'>,
): boolean => client.clientId === clientId || isFor(claims, clientId)

/** The client's own: not of a user, and not exchanged for that of another. */
export const isOwnToken = ({
  client,
  account,
  claims,
}: Pick<VerifiedToken, 'client' | 'account' | 'claims'>): boolean =>
  account?.id === client.id && claims['act'] === undefined

/** The client's own, while it has a service account. */
export const isOfServiceAccount = (verified: VerifiedToken): boolean =>
  isOwnToken(verified) && verified.client.doc.serviceAccountsEnabled
