/**
 * A token that is shown at an exchange (RFC 8693 §2.1, §3), as subject or as actor: an access token of this realm, or an
 * id token, which speaks for the grant that it came of.
 */

import type { Clock } from '#server/platform/clock.ts'
import { offlineScope, openidScope, parseScope } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import { invalidRequest, type OAuthError } from '../../../errors.ts'
import type { GrantContext } from '../grant.ts'

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

/** The client or audience of the token: other clients may not exchange it. */
const isHeldBy = ({ clientId }: TokenClient, { claims, client }: VerifiedToken): boolean =>
  client.clientId === clientId || [claims['aud']].flat().includes(clientId)

/** A service that got a bound token cannot prove its key; the client it was issued to must. */
const isProven = ({ client, jkt }: GrantContext, token: VerifiedToken): boolean => {
  const bound = (token.claims['cnf'] as { jkt?: unknown } | undefined)?.jkt
  return bound === undefined || token.client.clientId !== client.clientId || bound === jkt
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
    const { scope, aud } = token.claims
    // One that is not for the issuer reaches no userinfo (RFC 8707 §2.2); what comes of it does not either.
    const reachesUserinfo = !token.user || [aud].flat().includes(issuer.url)
    return {
      ...token,
      scope: parseScope(String(scope ?? '')).filter(
        (one) => reachesUserinfo || one !== openidScope,
      ),
    }
  }

  /** For the client that it was issued to; what the grant says of actors holds for it too. */
  const idToken = async (
    { issuer, client }: GrantContext,
    value: string,
  ): Promise<ExchangedToken | undefined> => {
    const token = await verifier.idToken(issuer, value)
    if (token?.aud !== client.clientId || token.exp * 1000 <= clock.now()) return undefined
    const live = await verifier.grant(issuer, token.grantId)
    if (!live?.user || live.grant.client_id !== client.id) return undefined
    const claims = { ...grantsStore.dataOf(live.grant).claims, ...token.claims }
    return { ...live, claims, client, scope: grantsStore.scopeOf(live.grant) }
  }

  const readers: Readonly<Record<string, typeof accessToken>> = {
    [accessTokenType]: accessToken,
    [idTokenType]: idToken,
  }

  return async (context, name, mayShow = async () => false) => {
    const { client, form } = context
    const value = form.require(name)
    const read = readers[form.require(`${name}_type`)]
    if (!read)
      throw invalidRequest(`${name}_type must be one of ${Object.keys(readers).join(', ')}`)
    const token = await read(context, value)
    if (!token) throw badToken(name, 'it is not of this realm, or not alive')
    if (!isHeldBy(client, token) && !(await mayShow(token)))
      throw badToken(name, 'it is not for this client')
    if (!isProven(context, token)) throw badToken(name, 'it is bound to another key')
    return { ...token, scope: token.scope.filter((one) => one !== offlineScope) }
  }
}
