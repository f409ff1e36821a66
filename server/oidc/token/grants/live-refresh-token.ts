/**
 * A refresh token that may be used now: of the client, neither spent nor expired, with its key, and of a grant whose session and
 * user are there. The same rules hold wherever a client presents one. One that was spent before has been stolen: its whole
 * family ends (RFC 9700 §4.14.2).
 */

import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { RefreshTokenRow, TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import { allowedScopes, offlineScope } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantData, GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import type { LiveGrant, Verifier } from '#server/tokens/verify.ts'
import { invalidGrant, type OAuthError } from '../../errors.ts'
import type { GrantContext } from './grant.ts'
import { recordReuse } from './reuse.ts'

export interface LiveRefreshTokenParts {
  readonly clock: Clock
  readonly grantsStore: GrantsStore
  readonly verifier: Pick<Verifier, 'grant'>
  readonly recorder: Recorder
}

export interface LiveRefreshToken extends LiveGrant {
  readonly token: RefreshTokenRow
  readonly data: GrantData
  /** When one that is issued now ends: unused for too long, or with its grant. */
  readonly until: number
}

/** The same error for every reason. */
export const refusedRefreshToken = (detail: string): OAuthError =>
  invalidGrant('the refresh token is not good', { detail })

export const createLiveRefreshToken = (parts: LiveRefreshTokenParts) => {
  const { clock, grantsStore, verifier } = parts

  const endsAt = ({ settings }: Issuer, client: TokenClient, grant: TokenGrantRow): number => {
    const lifetimes = lifetimesOf(settings, client.doc)
    const [idle, most] = grant.offline
      ? [lifetimes.offlineIdle, lifetimes.offlineMax]
      : [lifetimes.refreshIdle, lifetimes.refreshMax]
    const last = Math.min(grant.expires_at, grant.created_at + most * 1000)
    return Math.min(clock.now() + idle * 1000, last)
  }

  const endReused = async (context: GrantContext, family: TokenGrantRow): Promise<OAuthError> => {
    await recordReuse(parts, context, family)
    return refusedRefreshToken('it was used before')
  }

  const find = async (context: GrantContext, value: string) => {
    const { issuer, client } = context
    const found = await grantsStore.findRefreshToken(issuer.name, value)
    if (!found) {
      const family = await grantsStore.familyOfForgotten(issuer.name, value)
      if (family?.client_id === client.id) throw await endReused(context, family)
      throw refusedRefreshToken('there is no such refresh token')
    }
    if (found.grant.client_id !== client.id)
      throw refusedRefreshToken('it was issued to another client')
    return found
  }

  return async (context: GrantContext, value: string): Promise<LiveRefreshToken> => {
    const { issuer, client, jkt } = context
    const { token, grant: family } = await find(context, value)
    const isExpired = token.expires_at <= clock.now()
    const isTolerated = issuer.settings.refreshTokenMaxReuse > 0 && !isExpired
    if (token.used_at !== null && !isTolerated) throw await endReused(context, family)
    if (isExpired) throw refusedRefreshToken('it has expired')
    const live = await verifier.grant(issuer, token.grant_id)
    if (!live) throw refusedRefreshToken('its grant, session or user is gone')
    const { grant } = live
    const data = grantsStore.dataOf(grant)
    if (data.jkt !== undefined && data.jkt !== jkt)
      throw refusedRefreshToken('it is bound to another key')
    if (grant.offline && !allowedScopes(client).has(offlineScope))
      throw refusedRefreshToken('the client may not have offline access any more')
    const until = endsAt(issuer, client, grant)
    if (until <= clock.now()) throw refusedRefreshToken('the grant has ended')
    return { ...live, token, data, until }
  }
}
