/**
 * The user that an access token speaks for, at resources of the issuer itself: userinfo and the account API. The token must
 * be meant for that resource: one for anything else is refused (RFC 9068 §4), as is one that was narrowed (RFC 8707 §2.2).
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { accountAudience } from '#server/tokens/access/audience.ts'
import { isFor } from '#server/tokens/access/presented.ts'
import { accountScope, openidScope, parseScope } from '#server/tokens/access/scopes.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import { allowOriginOf } from '../cors.ts'
import type { Parameters } from '../parameters.ts'
import { presentedToken, refuseScope, refuseToken } from './bearer.ts'
import type { Dpop } from './dpop.ts'

export interface UserToken extends VerifiedToken {
  readonly user: UserRow
  readonly scope: readonly string[]
}

export interface UserTokenParts {
  readonly verifier: Pick<Verifier, 'accessToken' | 'signed'>
  readonly dpop: Pick<Dpop, 'checkPossession'>
}

/** A resource of the issuer: the audience and the scope that its tokens have. */
export interface OwnResource {
  readonly audience: string
  readonly scope: string
}

export const userinfoResource = ({ url }: Issuer): OwnResource => ({
  audience: url,
  scope: openidScope,
})

export const accountResource = ({ url }: Issuer): OwnResource => ({
  audience: accountAudience(url),
  scope: accountScope,
})

export interface UserTokenOptions {
  /** Userinfo unless told otherwise. */
  readonly resource?: OwnResource
  /** The form that may hold the token, where the endpoint takes one. */
  readonly form?: Parameters
  /** As of `PresentedToken` in dpop.ts. */
  readonly address?: string
}

/** The claims come again as the same object for as long as the token is remembered (jwt.ts). */
const scopes = new WeakMap<Claims, readonly string[]>()

const scopeOf = (claims: Claims): readonly string[] => {
  const known = scopes.get(claims)
  if (known) return known
  const scope = parseScope(typeof claims['scope'] === 'string' ? claims['scope'] : '')
  scopes.set(claims, scope)
  return scope
}

/** A token for the issuer that lacks the scope learns which one; it has not the audience without it. */
const userOf = (
  issuer: Issuer,
  { claims, user }: VerifiedToken,
  { audience, scope }: OwnResource,
): UserRow => {
  const isMeant = isFor(claims, audience)
  if (!isMeant && !isFor(claims, issuer.url))
    throw refuseToken(issuer, 'it is for another audience')
  if (!user) throw refuseToken(issuer, 'it is not the token of a user')
  if (!scopeOf(claims).includes(scope)) throw refuseScope(issuer, scope)
  if (!isMeant) throw refuseToken(issuer, `its audience is not ${audience}`)
  return user
}

/** The client of a token that is not good any more: its page must be able to read that (only what we signed counts). */
const signedFor = async (
  verifier: UserTokenParts['verifier'],
  issuer: Issuer,
  token: string,
): Promise<TokenClient | undefined> => {
  const signed = await verifier.signed(issuer, token)
  const clientId = signed?.typ === 'at+jwt' ? signed.claims['client_id'] : undefined
  const document =
    typeof clientId === 'string' ? await issuer.view.get(Client.kind, clientId) : undefined
  return document && clientOf(document)
}

/** Throws what the protocol says (RFC 6750 §3) unless the token is for the resource and has its scope. */
export const userTokenOf = async (
  { verifier, dpop }: UserTokenParts,
  issuer: Issuer,
  request: FastifyRequest,
  reply: FastifyReply,
  { form, address, resource = userinfoResource(issuer) }: UserTokenOptions = {},
): Promise<UserToken> => {
  const presented = presentedToken(issuer, request, form)
  const verified = await verifier.accessToken(issuer, presented.token)
  const client = verified?.client ?? (await signedFor(verifier, issuer, presented.token))
  if (client) allowOriginOf(client, request, reply)
  if (!verified) throw refuseToken(issuer, 'it is forged, expired or revoked')
  const { claims } = verified
  await dpop.checkPossession(issuer, request, {
    ...presented,
    claims,
    client: verified.client,
    ...(address === undefined ? {} : { address }),
  })
  const user = userOf(issuer, verified, resource)
  return { ...verified, user, scope: scopeOf(claims) }
}
