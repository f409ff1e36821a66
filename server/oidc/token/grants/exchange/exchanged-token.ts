/**
 * A token that is shown at an exchange (RFC 8693 §2.1, §3), as subject or as actor: an access token of this realm, or an
 * id token, which speaks for the grant that it came of.
 */

import { own } from '#schemas/own.ts'
import type { Clock } from '#server/platform/clock.ts'
import { isFor, isHeldBy } from '#server/tokens/access/presented.ts'
import { offlineScope, openidScope, parseScope } from '#server/tokens/access/scopes.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import { invalidRequest, type OAuthError } from '../../../errors.ts'
import { boundKey } from '../../dpop.ts'
import type { GrantContext } from '../grant.ts'
import { createLiveIdToken } from './live-id-token.ts'

export type TokenName = 'subject_token' | 'actor_token'

export interface ExchangedToken extends VerifiedToken {
  /** What it allows; a longer life is not passed on. */
  readonly scope: readonly string[]
}

/** Whether the client may show a token that was neither issued to it nor is for it. */
export type MayShow = (token: ExchangedToken) => Promise<boolean>

export type ReadExchangedToken = (
  context: GrantContext,
  name: TokenName,
  mayShow?: MayShow,
) => Promise<ExchangedToken>

interface ExchangedTokenParts {
  readonly verifier: Verifier
  readonly grantsStore: GrantsStore
  readonly clock: Clock
}

export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'
export const idTokenType = 'urn:ietf:params:oauth:token-type:id_token'

/** RFC 8693 §2.2.2 wants invalid_request for tokens too. */
export const badToken = (name: TokenName, detail: string): OAuthError =>
  invalidRequest(`the ${name} is not good`, { detail })

/**
 * The client that a bound token was issued to proves its key (RFC 9449 §5). A service that received the token cannot; it
 * proves a key of its own, which the new token is bound to: no exchange makes an unbound token of a bound one.
 */
const checkBinding = (
  { client, jkt }: GrantContext,
  name: TokenName,
  { claims, client: holder }: VerifiedToken,
): void => {
  if (claims['cnf'] === undefined) return
  const isHolder = holder.clientId === client.clientId
  if (isHolder && boundKey(claims) !== jkt) throw badToken(name, 'it is bound to another key')
  if (jkt === undefined)
    throw invalidRequest(`the ${name} is bound to a key: prove a key of the client by DPoP`)
}

export const createReadExchangedToken = ({
  verifier,
  grantsStore,
  clock,
}: ExchangedTokenParts): ReadExchangedToken => {
  const accessToken = async (
    { issuer }: GrantContext,
    value: string,
  ): Promise<ExchangedToken | undefined> => {
    const token = await verifier.accessToken(issuer, value)
    if (!token?.user && !token?.account) return undefined
    const { claims } = token
    // One that is not for the issuer reaches no userinfo (RFC 8707 §2.2); what comes of it does not either.
    const reachesUserinfo = !token.user || isFor(claims, issuer.url)
    return {
      ...token,
      scope: parseScope(String(claims['scope'] ?? '')).filter(
        (one) => reachesUserinfo || one !== openidScope,
      ),
    }
  }

  const readers: Readonly<Record<string, typeof accessToken>> = {
    [accessTokenType]: accessToken,
    [idTokenType]: createLiveIdToken({ verifier, grantsStore, clock }),
  }

  return async (context, name, mayShow = async () => false) => {
    const { client, form } = context
    const value = form.require(name)
    const read = own(readers, form.require(`${name}_type`))
    if (!read)
      throw invalidRequest(`${name}_type must be one of ${Object.keys(readers).join(', ')}`)
    const token = await read(context, value)
    if (!token) throw badToken(name, 'it is not of this realm, or not alive')
    // Other clients than that of the token, or of its audience, may not exchange it.
    if (!isHeldBy(client, token) && !(await mayShow(token)))
      throw badToken(name, 'it is not for this client')
    checkBinding(context, name, token)
    return { ...token, scope: token.scope.filter((one) => one !== offlineScope) }
  }
}
