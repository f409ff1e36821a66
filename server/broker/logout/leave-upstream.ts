/**
 * Our sign-out goes on to the identity provider that the session came from, where it offers that (OIDC RP-Initiated Logout). The
 * browser comes back by a trip of its own and then goes where the sign-out was to lead. A provider that does not
 * answer does not hold up the sign-out.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { brokerUrl } from '../addresses.ts'
import { type BrokerProtocol, type Provider, UpstreamRefused } from '../protocol.ts'
import type { Providers } from '../providers.ts'
import type { UpstreamSessions } from '../sessions/upstream-sessions.ts'
import { newTripState, type Trips } from '../trips/trips.ts'

export interface LeaveParts {
  readonly clock: Clock
  readonly providers: Pick<Providers, 'byId'>
  readonly sessions: Pick<UpstreamSessions, 'ofSession' | 'ended'>
  readonly trips: Pick<Trips, 'begin'>
  readonly protocolOf: (provider: Provider) => BrokerProtocol
}

/** Where the browser goes, and the statements for the transaction that ends the session. */
export interface Leaving {
  readonly url: string
  readonly statements: readonly Statement[]
}

/** `browser` makes what ties the way back to this browser; `target` is where the sign-out was to lead. */
export type LeaveUpstream = (
  issuer: Issuer,
  sid: string,
  browser: () => string,
  target: string | undefined,
) => Promise<Leaving | undefined>

export const createLeaveUpstream =
  ({ clock, providers, sessions, trips, protocolOf }: LeaveParts): LeaveUpstream =>
  async (issuer, sid, browser, target) => {
    const [origin] = await sessions.ofSession(sid)
    const provider = origin && (await providers.byId(issuer.view, origin.provider))
    if (!origin || !provider?.doc.enabled) return undefined
    const state = newTripState()
    const back = { url: brokerUrl(issuer, provider.alias, 'logout'), state }
    try {
      const departure = await protocolOf(provider).logout?.(provider, origin.session, back)
      if (departure?.kind !== 'redirect') return undefined
      await trips.begin({ realm: issuer.name, provider: provider.id }, state, browser(), {
        purpose: { kind: 'logout', target },
        kept: null,
        asked: { begunAt: clock.now() },
      })
      return { url: departure.url, statements: [sessions.ended(origin)] }
    } catch (error) {
      if (error instanceof UpstreamRefused) return undefined
      throw error
    }
  }
