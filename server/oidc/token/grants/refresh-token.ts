/**
 * A refresh token for new tokens (RFC 6749 §6). Where tokens rotate, each is good for one use and is replaced; one that
 * comes back after its use has been stolen: the whole family ends (RFC 9700 §4.14.2). Scope and resources only become fewer.
 */

import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Statement } from '#server/storage/contract.ts'
import { rememberedScopes } from '#server/tokens/access/high-risk.ts'
import { parseScope } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { bareRefreshToken, type IssuedRefreshToken } from '#server/tokens/keycloak/refresh-token.ts'
import { invalidScope } from '../../errors.ts'
import { grantAuthentication } from './authentication.ts'
import type { Grant, GrantContext, Issuance } from './grant.ts'
import {
  type createLiveRefreshToken,
  type LiveRefreshToken,
  refusedRefreshToken,
} from './live-refresh-token.ts'
import { narrowedResources } from './narrow.ts'
import { recordReuse } from './reuse.ts'

export interface RefreshParts {
  readonly clock: Clock
  readonly grantsStore: GrantsStore
  readonly sessions: Sessions
  readonly recorder: Recorder
  readonly liveRefreshToken: ReturnType<typeof createLiveRefreshToken>
}

type Found = Pick<LiveRefreshToken, 'token' | 'grant'>

/** The next token, and the statements that guard against concurrent use. */
type Succession = (
  context: GrantContext,
  found: Found,
  until: number,
) => IssuedRefreshToken & { statements: readonly Statement[] }

/** What was granted for more than once, or the part of it that the request names. */
const narrowedScope = (granted: readonly string[], requested: string | undefined): string[] => {
  const wanted = parseScope(requested)
  for (const scope of wanted)
    if (!granted.includes(scope))
      throw invalidScope(`the scope ${scope} was not granted to be refreshed`)
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
  const { clock, grantsStore, sessions, liveRefreshToken } = parts

  const kept: Succession = ({ form }, { token }, until) => ({
    refreshToken: bareRefreshToken(form.require('refresh_token')),
    expiresAt: until,
    statements: grantsStore.keepRefreshToken(token, until),
  })

  const rotated: Succession = ({ issuer }, { token, grant }, until) => {
    const spent = grantsStore.useRefreshToken(token, issuer.settings.refreshTokenMaxReuse)
    const seconds = Math.floor((until - clock.now()) / 1000)
    const { statements, ...made } = grantsStore.createRefreshToken(grant.id, seconds)
    return { ...made, statements: [...spent, ...statements] }
  }

  const handle = async (context: GrantContext): Promise<Issuance> => {
    const { issuer, client, form } = context
    const live = await liveRefreshToken(context, form.require('refresh_token'))
    const { token, grant, user, data, until } = live
    const granted = await rememberedScopes(issuer.view, grantsStore.scopeOf(grant))
    const scope = narrowedScope(granted, form.get('scope'))
    const resources = narrowedResources(client, data.resources ?? [], context.resources)
    const succeed = isRotated(issuer, client, data.jkt) ? rotated : kept
    const next = succeed(context, { token, grant }, until)
    const ofSession = grant.offline === 0 && grant.sid !== null ? grant.sid : undefined
    return {
      ...(user ? { user } : {}),
      scope,
      resources,
      authentication: grantAuthentication(grant, data),
      ...(data.claims ? { claims: data.claims } : {}),
      refresh: next,
      // Without the nonce of the first one (OIDC Core §12.2).
      idToken: { ...(data.idTokenClaims ? { requestedClaims: data.idTokenClaims } : {}) },
      statements: [
        ...next.statements,
        ...(ofSession ? sessions.touchStatements(issuer.name, ofSession, issuer.settings) : []),
      ],
      onConflict: async () => {
        await recordReuse(parts, context, grant)
        return refusedRefreshToken('it was used at the same moment, or its grant has ended')
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
