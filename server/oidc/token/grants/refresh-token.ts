/**
 * A refresh token for new tokens (RFC 6749 §6). Where tokens rotate, each is good for one use and is replaced; one that
 * comes back after its use has been stolen: the whole family ends (RFC 9700 §4.14.2). Scope and resources only become fewer.
 */

import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { RefreshTokenRow, TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import { allowedScopes, offlineScope, parseScope } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import { invalidGrant, invalidScope, type OAuthError } from '../../errors.ts'
import { authenticationOf } from './authentication.ts'
import type { Grant, GrantContext, Issuance } from './grant.ts'
import { narrowedResources } from './narrow.ts'
import { recordReuse } from './reuse.ts'

export interface RefreshParts {
  readonly clock: Clock
  readonly grantsStore: GrantsStore
  readonly verifier: Verifier
  readonly sessions: Sessions
  readonly recorder: Recorder
}

interface Found {
  readonly token: RefreshTokenRow
  readonly grant: TokenGrantRow
}

/** The next token, and the statements that guard against concurrent use. */
type Succession = (
  context: GrantContext,
  found: Found,
  until: number,
) => { refreshToken: string; statements: readonly Statement[] }

/** The same error for every reason. */
const refused = (detail: string): OAuthError =>
  invalidGrant('the refresh token is not good', { detail })

/** What was granted, or the part of it that the request names. */
const narrowedScope = (granted: readonly string[], requested: string | undefined): string[] => {
  const wanted = parseScope(requested)
  for (const scope of wanted)
    if (!granted.includes(scope)) throw invalidScope('the scope was not granted')
  return wanted.length > 0 ? wanted : [...granted]
}

/** A public client has nothing but the token itself to prove that it is the same (RFC 9700 §2.2.2). */
const isRotated = (
  { settings }: Issuer,
  { doc }: TokenClient,
  boundTo: string | undefined,
): boolean => {
  if (doc.publicClient && boundTo === undefined) return true
  return doc.refreshTokenRotation === 'realm'
    ? settings.revokeRefreshToken
    : doc.refreshTokenRotation === 'always'
}

export const refreshToken = (parts: RefreshParts): Grant => {
  const { clock, grantsStore, verifier, sessions } = parts

  /** When the next one ends: unused for too long, or with its grant. */
  const endsAt = ({ settings }: Issuer, client: TokenClient, grant: TokenGrantRow): number => {
    const lifetimes = lifetimesOf(settings, client.doc)
    const [idle, most] = grant.offline
      ? [lifetimes.offlineIdle, lifetimes.offlineMax]
      : [lifetimes.refreshIdle, lifetimes.refreshMax]
    const last = Math.min(grant.expires_at, grant.created_at + most * 1000)
    return Math.min(clock.now() + idle * 1000, last)
  }

  const kept: Succession = ({ form }, { token }, until) => ({
    refreshToken: form.require('refresh_token'),
    statements: grantsStore.keepRefreshToken(token, until),
  })

  const rotated: Succession = ({ issuer }, { token, grant }, until) => {
    const spent = grantsStore.useRefreshToken(token, issuer.settings.refreshTokenMaxReuse)
    const seconds = Math.floor((until - clock.now()) / 1000)
    const { refreshToken, statements } = grantsStore.createRefreshToken(grant.id, seconds)
    return { refreshToken, statements: [...spent, ...statements] }
  }

  const endReused = async (context: GrantContext, family: TokenGrantRow): Promise<OAuthError> => {
    await recordReuse(parts, context, family)
    return refused('it was used before')
  }

  const find = async (context: GrantContext): Promise<Found> => {
    const { issuer, client, form } = context
    const value = form.require('refresh_token')
    const found = await grantsStore.findRefreshToken(issuer.name, value)
    if (!found) {
      const family = await grantsStore.familyOfForgotten(issuer.name, value)
      if (family?.client_id === client.id) throw await endReused(context, family)
      throw refused('there is no such refresh token')
    }
    if (found.grant.client_id !== client.id) throw refused('it was issued to another client')
    return found
  }

  const handle = async (context: GrantContext): Promise<Issuance> => {
    const { issuer, client, form, jkt } = context
    const found = await find(context)
    const { token } = found
    const isExpired = token.expires_at <= clock.now()
    const isTolerated = issuer.settings.refreshTokenMaxReuse > 0 && !isExpired
    if (token.used_at !== null && !isTolerated) throw await endReused(context, found.grant)
    if (isExpired) throw refused('it has expired')
    const live = await verifier.grant(issuer, token.grant_id)
    if (!live) throw refused('its grant, session or user is gone')
    const { grant, user } = live
    const data = grantsStore.dataOf(grant)
    if (data.jkt !== undefined && data.jkt !== jkt) throw refused('it is bound to another key')
    if (grant.offline && !allowedScopes(client).has(offlineScope))
      throw refused('the client may not have offline access any more')
    const scope = narrowedScope(grantsStore.scopeOf(grant), form.get('scope'))
    const resources = narrowedResources(client, data.resources ?? [], context.resources)
    const until = endsAt(issuer, client, grant)
    if (until <= clock.now()) throw refused('the grant has ended')
    const succeed = isRotated(issuer, client, data.jkt) ? rotated : kept
    const next = succeed(context, { token, grant }, until)
    const ofSession = grant.offline === 0 && grant.sid !== null ? grant.sid : undefined
    return {
      ...(user ? { user } : {}),
      scope,
      resources,
      authentication: authenticationOf(grant, data),
      ...(data.claims ? { claims: data.claims } : {}),
      refreshToken: next.refreshToken,
      // Without the nonce of the first one (OIDC Core §12.2).
      idToken: { ...(data.idTokenClaims ? { requestedClaims: data.idTokenClaims } : {}) },
      statements: [
        ...next.statements,
        ...(ofSession ? sessions.touchStatements(issuer.name, ofSession, issuer.settings) : []),
      ],
      onConflict: async () => {
        await recordReuse(parts, context, found.grant)
        return refused('it was used at the same moment, or its grant has ended')
      },
    }
  }

  return {
    name: 'refresh_token',
    event: 'REFRESH_TOKEN',
    parameters: { refresh_token: 'The refresh token.' },
    handle,
  }
}
