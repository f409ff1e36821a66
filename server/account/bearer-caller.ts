/** Who speaks by an access token: a user through a client, or a client for itself. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type AccountCallerParts,
  createAccountCaller,
  requestAddress,
} from '#server/oidc/account-caller.ts'
import { noToken, presentedToken, refuseToken } from '#server/oidc/bearer.ts'
import { allowOriginOf } from '#server/oidc/cors.ts'
import type { UserRow } from '#server/storage/tables.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/realm.ts'
import type { VerifiedToken } from '#server/tokens/verify.ts'

export interface BearerCaller {
  readonly client: TokenClient
  /** Nobody where the client speaks for itself. */
  readonly user: UserRow | undefined
}

export const createBearerCaller = (parts: AccountCallerParts) => {
  const { verifier, dpop } = parts
  const accountOf = createAccountCaller(parts)

  /** The token of a client must be for us, and its own: not exchanged for that of another. */
  const insistOnOwn = (issuer: Issuer, { claims, client, account }: VerifiedToken): void => {
    if (![claims['aud']].flat().includes(issuer.url))
      throw refuseToken(issuer, 'it is for another audience')
    if (account?.id !== client.id || claims['act'] !== undefined)
      throw refuseToken(issuer, 'it was exchanged')
  }

  return async (
    issuer: Issuer,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<BearerCaller> => {
    const presented = presentedToken(issuer, request)
    const verified = await verifier.accessToken(issuer, presented.token)
    if (!verified || verified.user) {
      const { user } = await accountOf(issuer, request, reply)
      if (!verified) throw noToken(issuer)
      return { client: verified.client, user }
    }
    const { client, claims } = verified
    allowOriginOf(client, request, reply)
    const address = requestAddress(issuer, request)
    await dpop.checkPossession(issuer, request, { ...presented, claims, address })
    insistOnOwn(issuer, verified)
    return { client, user: undefined }
  }
}
