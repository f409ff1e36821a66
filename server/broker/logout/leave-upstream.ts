/**
 * Our sign-out goes on to the identity provider that the session came from, where it offers that (OIDC RP-Initiated Logout; SAML
 * Profiles §4.4). The browser leaves by an address of ours, because the form of the sign-out may not lead to the provider, and
 * comes back by a trip of its own to where the sign-out was to lead. A provider that takes logouts from servers alone gets a
 * job. A provider that does not answer does not hold up the sign-out.
 */

import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { type EndedSession, logoutQueue } from '#server/sessions/endings.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { brokerUrl } from '../addresses.ts'
import { type BrokerProtocol, type Departure, type Provider, UpstreamRefused } from '../protocol.ts'
import type { Providers } from '../providers.ts'
import type { UpstreamSessions } from '../sessions/upstream-sessions.ts'
import { newTripState, type Trips } from '../trips/trips.ts'

export interface LeaveParts {
  readonly clock: Clock
  readonly jobs: Pick<Jobs, 'enqueueStatements'>
  readonly providers: Pick<Providers, 'byId'>
  readonly sessions: Pick<UpstreamSessions, 'ofSession' | 'ended'>
  readonly trips: Pick<Trips, 'begin'>
  readonly protocolOf: (provider: Provider) => BrokerProtocol
}

/** Where the browser goes, if it has to, and the statements for the transaction that ends the session. */
export interface Leaving {
  readonly url: string | undefined
  readonly statements: readonly Statement[]
}

/** What the trip of a sign-out keeps. */
export interface KeptLeave {
  readonly departure: Departure
  /** The protocol's. */
  readonly kept: unknown
}

/** `browser` makes what ties the way back to this browser; `target` is where the sign-out was to lead. */
export type LeaveUpstream = (
  issuer: Issuer,
  sid: string,
  browser: () => string,
  target: string | undefined,
) => Promise<Leaving | undefined>

export const createLeaveUpstream =
  ({ clock, jobs, providers, sessions, trips, protocolOf }: LeaveParts): LeaveUpstream =>
  async (issuer, sid, browser, target) => {
    const [origin] = await sessions.ofSession(sid)
    const provider = origin && (await providers.byId(issuer.view, origin.provider))
    if (!origin || !provider?.doc.enabled) return undefined
    const { id, alias } = provider
    const state = newTripState()
    const back = { url: brokerUrl(issuer, alias, 'logout'), state }
    try {
      const way = await protocolOf(provider).logout?.(provider, origin.session, back)
      if (!way) return undefined
      if (way.kind === 'server') {
        const payload: EndedSession = { sid, user: origin.user_id }
        const job = { key: `${sid}/${id}`, realm: issuer.name, target: id, payload }
        return { url: undefined, statements: jobs.enqueueStatements(logoutQueue, [job]) }
      }
      const { departure, kept } = way
      await trips.begin({ realm: issuer.name, provider: id }, state, browser(), {
        purpose: { kind: 'logout', target },
        kept: { departure, kept } satisfies KeptLeave,
        asked: { begunAt: clock.now() },
      })
      const url = `${brokerUrl(issuer, alias, 'leave')}?${new URLSearchParams({ state })}`
      return { url, statements: [sessions.ended(origin)] }
    } catch (error) {
      if (error instanceof UpstreamRefused) return undefined
      throw error
    }
  }
