/** The caller of an access token: a user through a client, or a client without a user. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { ownTokenOf } from '#server/oidc/account-caller.ts'
import { allowOriginOf } from '#server/oidc/cors.ts'
import { presentedToken, refuseScope, refuseToken } from '#server/oidc/token/bearer.ts'
import { type UserTokenParts, userinfoResource } from '#server/oidc/token/user-token.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { isFor, isOwnToken, requestAddress } from '#server/tokens/access/presented.ts'
import { accountScope } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Subjects } from '#server/tokens/subject.ts'
import type { VerifiedToken } from '#server/tokens/verify.ts'
import type { Users } from '#server/users/users.ts'

export interface BearerCaller {
  readonly client: TokenClient
  /** Undefined for a token of a client without a user. */
  readonly user: UserRow | undefined
}

export interface BearerCallerParts extends UserTokenParts {
  readonly users: Users
  readonly subjects: Pick<Subjects, 'isPairwise'>
}

export const createBearerCaller = (parts: BearerCallerParts) => {
  const { verifier, dpop, users, subjects } = parts

  /**
   * A client that the user has to allow things acts on transactions only where the user has allowed that. So does one with
   * pairwise subjects, to which a transaction would tell the id of the user. No user has allowed what a client does by its own
   * token: it could name any user, and learn who exists.
   */
  const needsScope = async ({ view }: Issuer, client: TokenClient): Promise<boolean> =>
    client.doc.consentRequired || (await subjects.isPairwise(view, client))

  const byUser = async (
    issuer: Issuer,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<BearerCaller> => {
    const token = await ownTokenOf(parts, issuer, request, reply, userinfoResource(issuer))
    if (!token.scope.includes(accountScope) && (await needsScope(issuer, token.client)))
      throw refuseScope(issuer, accountScope)
    const user = await users.find(issuer.name, token.user.id)
    if (!user) throw refuseToken(issuer, 'its user is gone')
    return { client: token.client, user }
  }

  /** The token of a client must be for us, and its own: not exchanged for that of another. */
  const insistOnOwn = (issuer: Issuer, verified: VerifiedToken): void => {
    if (!isFor(verified.claims, issuer.url)) throw refuseToken(issuer, 'it is for another audience')
    if (!isOwnToken(verified)) throw refuseToken(issuer, 'it was exchanged')
  }

  return async (
    issuer: Issuer,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<BearerCaller> => {
    const presented = presentedToken(issuer, request)
    const verified = await verifier.accessToken(issuer, presented.token)
    if (!verified || verified.user) return byUser(issuer, request, reply)
    const { client, claims } = verified
    allowOriginOf(client, request, reply)
    const address = requestAddress(issuer, request)
    await dpop.checkPossession(issuer, request, { ...presented, claims, client, address })
    insistOnOwn(issuer, verified)
    if (await needsScope(issuer, client)) throw refuseScope(issuer, accountScope)
    return { client, user: undefined }
  }
}
