/** The lifetime of a redeemed grant, and its first refresh token if the client uses them. */

import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import { offlineScope } from '#server/tokens/access/scopes.ts'
import type { GrantData, GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { IssuedRefreshToken } from '#server/tokens/keycloak/refresh-token.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import { impersonatorIn } from '../acting.ts'
import type { GrantContext } from './grant.ts'

export interface Prolonged {
  readonly offline: boolean
  /** Epoch milliseconds. */
  readonly expiresAt: number
  readonly refresh?: IssuedRefreshToken & { readonly statements: Statement[] }
}

export const createProlong =
  ({ clock, grantsStore }: { readonly clock: Clock; readonly grantsStore: GrantsStore }) =>
  (
    { issuer, client }: GrantContext,
    grant: TokenGrantRow,
    scope: readonly string[],
    { authTime = clock.now(), claims }: GrantData,
  ): Prolonged => {
    const lifetimes = lifetimesOf(issuer.settings, client.doc)
    const now = clock.now()
    const ofAccessToken = now + lifetimes.accessToken * 1000
    if (!client.doc.grantTypes.includes('refresh_token'))
      return { offline: false, expiresAt: ofAccessToken }
    // What an administrator gets as a user ends with the session in which the administrator acts.
    const isImpersonated = impersonatorIn(claims?.['act']) !== undefined
    const offline = scope.includes(offlineScope) && !isImpersonated
    const end = offline ? now + lifetimes.offlineMax * 1000 : authTime + lifetimes.refreshMax * 1000
    const idle = offline ? lifetimes.offlineIdle : lifetimes.refreshIdle
    const rest = Math.max(1, Math.floor((end - now) / 1000))
    const refresh = grantsStore.createRefreshToken(grant.id, Math.min(idle, rest))
    return { offline, expiresAt: Math.max(end, ofAccessToken), refresh }
  }

export type Prolong = ReturnType<typeof createProlong>
