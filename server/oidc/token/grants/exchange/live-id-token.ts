/** An id token that speaks for the grant that it came of: not expired, and of a grant whose session and user are there. */

import type { Clock } from '#server/platform/clock.ts'
import { rememberedScopes } from '#server/tokens/access/high-risk.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import type { GrantContext } from '../grant.ts'

export interface LiveIdToken extends VerifiedToken {
  /** Of its grant. */
  readonly scope: readonly string[]
}

export interface LiveIdTokenParts {
  readonly verifier: Pick<Verifier, 'idToken' | 'grant'>
  readonly grantsStore: Pick<GrantsStore, 'dataOf' | 'scopeOf'>
  readonly clock: Clock
}

/** For the client that it was issued to; what the grant says of actors holds for it too. */
export const createLiveIdToken =
  ({ verifier, grantsStore, clock }: LiveIdTokenParts) =>
  async ({ issuer, client }: GrantContext, value: string): Promise<LiveIdToken | undefined> => {
    const token = await verifier.idToken(issuer, value)
    if (token?.aud !== client.clientId || token.exp * 1000 <= clock.now()) return undefined
    const live = await verifier.grant(issuer, token.grantId)
    if (!live?.user || live.grant.client_id !== client.id) return undefined
    const claims = { ...grantsStore.dataOf(live.grant).claims, ...token.claims }
    // An id token may come of a refresh, which does not give high-risk scopes.
    const scope = await rememberedScopes(issuer.view, grantsStore.scopeOf(live.grant))
    return { ...live, claims, client, scope }
  }
