/**
 * Whose account a request below `/account` is about: the user of an access token for the account API
 * (docs/decisions/account-api.md) or, without one, of the browser's session, which writes only with the CSRF token that
 * goes with it. A request with an Authorization header is judged by that alone: its cookies are not read.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import { xsrfHeader } from '#server/http/cookies/cookies.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import type { SessionRow, UserRow } from '#server/storage/tables/tables.ts'
import { requestAddress } from '#server/tokens/access/presented.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Users } from '#server/users/users.ts'
import { noToken, refuseToken } from './token/bearer.ts'
import {
  accountResource,
  type OwnResource,
  type UserToken,
  type UserTokenParts,
  userTokenOf,
} from './token/user-token.ts'

export interface AccountCallerParts extends UserTokenParts {
  readonly sessions: Sessions
  readonly users: Users
  readonly browser: Browser
}

export interface Account {
  readonly user: UserRow
  /** What the sign-in behind the request was worth; undefined where the token does not say. */
  readonly acr: string | undefined
  /** When the user signed in, and the session that came of it; undefined where the token does not say. */
  readonly signedInAt: number | undefined
  readonly sid: string | undefined
  /** None where a token speaks for the user. */
  readonly session?: SessionRow
}

export const accountOf = ({ user, session }: FoundSession): Account => ({
  user,
  session,
  acr: session.acr,
  signedInAt: session.created_at,
  sid: session.sid,
})

export type AccountCaller = (
  issuer: Issuer,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<Account>

/** The user's own token for the resource: not one that a client got by exchanging it, nor one of an administrator. */
export const ownTokenOf = async (
  parts: UserTokenParts,
  issuer: Issuer,
  request: FastifyRequest,
  reply: FastifyReply,
  resource: OwnResource,
): Promise<UserToken> => {
  const address = requestAddress(issuer, request)
  const token = await userTokenOf(parts, issuer, request, reply, { address, resource })
  // A client that exchanged the user's token acts for the user elsewhere, not upon the account.
  if (token.claims['act'] !== undefined || token.grant?.client_id !== token.client.id)
    throw refuseToken(issuer, 'it was exchanged')
  return token
}

export const createAccountCaller = (parts: AccountCallerParts): AccountCaller => {
  const { sessions, users, browser } = parts

  const byToken: AccountCaller = async (issuer, request, reply) => {
    const token = await ownTokenOf(parts, issuer, request, reply, accountResource(issuer))
    const { acr, auth_time: signedIn, sid } = token.claims
    // The stored row: it may be written back.
    const user = await users.find(issuer.name, token.user.id)
    if (!user) throw refuseToken(issuer, 'its user is gone')
    return {
      user,
      acr: typeof acr === 'string' ? acr : undefined,
      signedInAt: typeof signedIn === 'number' ? signedIn * 1000 : undefined,
      sid: typeof sid === 'string' ? sid : undefined,
    }
  }

  const bySession: AccountCaller = async (issuer, request, reply) => {
    const cookie = browser.sessionCookie(request, issuer.name)
    const found =
      cookie === undefined ? undefined : await sessions.find(issuer.name, cookie, issuer.settings)
    if (!found) throw noToken(issuer)
    if (request.method === 'GET' || request.method === 'HEAD') browser.greet(reply, found.session)
    else if (!browser.isOfSession(found.session, String(request.headers[xsrfHeader] ?? '')))
      throw new Problem('csrf', 'send the value of the XSRF-TOKEN cookie as X-XSRF-TOKEN')
    await sessions.touch(found.session, issuer.settings)
    return accountOf(found)
  }

  return (issuer, request, reply) =>
    (request.headers.authorization === undefined ? bySession : byToken)(issuer, request, reply)
}
