/**
 * Opens brokering: sends browsers to identity providers and reads what comes back. A user is found by a broker link, never here:
 * the sign-in decides what an identity is worth.
 */

import type { FastifyInstance } from 'fastify'
import type { Finding } from '#schemas/wire/findings.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import type { Pages } from '#server/http/pages/pages.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { KeysArea } from '#server/keys/open.ts'
import { createRemoteKeys } from '#server/keys/remote/remote-keys.ts'
import type { Secrets } from '#server/keys/secrets.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { createFetchMetadata } from '#server/saml-metadata/fetch-metadata.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { signJwt } from '#server/tokens/jwt.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import type { UsersArea } from '#server/users/open.ts'
import { brokerUrl } from './addresses.ts'
import { arrivalOf, type Landing, resumeParameter } from './arrival.ts'
import { departurePages } from './departure-pages.ts'
import { createEndSessions } from './logout/end-sessions.ts'
import { createLeaveUpstream } from './logout/leave-upstream.ts'
import { logoutRoutes } from './logout/routes.ts'
import { createTellUpstream } from './logout/tell-upstream.ts'
import { createMapping } from './mapping/mapping.ts'
import { metadataRoute } from './metadata-route.ts'
import {
  type BrokerProtocol,
  type Departure,
  type Provider,
  type Trip,
  type UpstreamIdentity,
  UpstreamRefused,
  type UpstreamTokens,
} from './protocol.ts'
import { createProtocols } from './protocols/index.ts'
import { createIdpMetadata } from './protocols/saml/metadata/idp-metadata.ts'
import { createMetadataRows } from './protocols/saml/metadata/metadata-rows.ts'
import { createProviders } from './providers.ts'
import { createUpstreamSessions } from './sessions/upstream-sessions.ts'
import { createTripCookie } from './trips/trip-cookie.ts'
import { createTrips, newTripState, type Purpose } from './trips/trips.ts'

export interface BrokerNeeds {
  readonly storage: Storage
  readonly copy: Pick<Copy, 'fresh'>
  readonly clock: Clock
  readonly secrets: Pick<Secrets, 'vault' | 'keyFor'>
  readonly outgoing: Pick<Outgoing, 'request' | 'resolve'>
  readonly keys: Pick<KeysArea, 'realmKeys'>
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'brokerAnswer'>
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  readonly users: Pick<UsersArea, 'ranks'>
  readonly sessions: Pick<Sessions, 'findBySids' | 'revokeStatements'>
  readonly tokens: Pick<TokensArea, 'issuers'>
  readonly http: { readonly cookies: Pick<Cookies, 'broker'>; readonly pages: Pages }
}

/** What a provider is asked for beside who it is. */
export type Hints = Pick<Trip, 'forceAuthn' | 'needsProof' | 'loginHint' | 'acr' | 'locales'>

/** The end of a trip. */
export interface Finished {
  readonly provider: Provider
  readonly identity: UpstreamIdentity
  readonly purpose: Purpose
}

/** A refused answer to a trip of this browser, which is over. */
export class TripRefused extends UpstreamRefused {
  readonly purpose: Purpose
  constructor({ reason, message }: UpstreamRefused, purpose: Purpose) {
    super(reason, message)
    this.purpose = purpose
  }
}

const notHere = (): UpstreamRefused =>
  new UpstreamRefused('not-allowed', 'there is no such identity provider for this purpose')

export const openBroker = (needs: BrokerNeeds) => {
  const { storage, copy, clock, secrets, outgoing, keys, http } = needs
  const { recorder, metrics, jobs, users, tokens, sessions: ourSessions } = needs
  const metadata = createIdpMetadata({
    storage,
    clock,
    rows: createMetadataRows({ storage }),
    fetchMetadata: createFetchMetadata(outgoing),
  })
  const signersOf = async (realm: string) => {
    const view = await copy.fresh(realm)
    return view ? (await keys.realmKeys.of(view)).signers() : []
  }
  const protocolNamed = createProtocols({
    storage,
    outgoing,
    clock,
    metadata,
    signersOf,
    remoteKeys: createRemoteKeys({ outgoing, clock }),
    signForRealm: async (realm, claims) => {
      const [key] = await signersOf(realm)
      if (!key) throw new UpstreamRefused('unavailable', 'the realm has no key to sign with')
      return signJwt(key, 'JWT', 'RS256', claims)
    },
  })
  const providers = createProviders({
    vault: secrets.vault,
    isServed: (protocol) => protocolNamed(protocol) !== undefined,
  })
  const trips = createTrips({ storage, clock, key: secrets.keyFor('broker-trips') })
  const sessions = createUpstreamSessions({
    storage,
    clock,
    key: secrets.keyFor('broker-sessions'),
  })

  const protocolOf = ({ protocol }: Pick<Provider, 'protocol'>): BrokerProtocol => {
    const found = protocolNamed(protocol)
    if (!found) throw notHere()
    return found
  }

  /** The provider of an answer: for whatever purpose, which only the trip knows. */
  const providerOf = async (issuer: Issuer, alias: string): Promise<Provider> => {
    const provider = await providers.find(issuer.view, alias, { kind: 'link' })
    if (!provider) throw notHere()
    return provider
  }

  /** What we are to a provider, for its operator; undefined where it does not exist or its protocol has none. */
  const describe = async (issuer: Issuer, alias: string): Promise<string | undefined> => {
    const provider = await providers.findAny(issuer.view, alias)
    const endpoint = brokerUrl(issuer, alias, 'endpoint')
    const logoutUrl = brokerUrl(issuer, alias, 'logout')
    return provider && protocolOf(provider).describe?.({ provider, endpoint, logoutUrl })
  }

  /** Counts the answers of providers by what they were worth. */
  const counted = async <T>({ realm, protocol }: Provider, work: () => Promise<T>): Promise<T> => {
    try {
      const value = await work()
      metrics.brokerAnswer(realm, protocol, 'success')
      return value
    } catch (error) {
      if (error instanceof UpstreamRefused) metrics.brokerAnswer(realm, protocol, error.reason)
      throw error
    }
  }

  const placeOf = ({ realm, id }: Provider) => ({ realm, provider: id })

  const tripCookie = createTripCookie(http.cookies)
  const addLogout = logoutRoutes({
    issuers: tokens.issuers,
    providers,
    trips,
    tripCookie,
    protocolOf,
    pages: http.pages.with(departurePages),
    endSessions: createEndSessions({
      storage,
      recorder,
      jobs,
      sessions: ourSessions,
      upstreamSessions: sessions,
    }),
  })

  return {
    providers,
    sessions,
    mapping: createMapping({ storage, clock, ranks: users.ranks }),
    tripCookie,

    /** Throws `UpstreamRefused`. */
    refresh: async (provider: Provider, before: UpstreamTokens): Promise<UpstreamTokens> => {
      const { refresh } = protocolOf(provider)
      if (!refresh) throw new UpstreamRefused('unavailable', 'its protocol has no refresh tokens')
      return refresh(provider, before)
    },

    /** The claims of an ID-JAG of the provider; throws `UpstreamRefused`. */
    idJag: async (provider: Provider, token: string, audience: string) => {
      const { idJag } = protocolOf(provider)
      if (!idJag) throw notHere()
      return idJag(provider, token, audience)
    },

    leaveUpstream: createLeaveUpstream({ clock, jobs, providers, sessions, trips, protocolOf }),

    tellLogout: createTellUpstream({ storage, providers, sessions, protocolOf }),

    check: (issuer: Pick<Issuer, 'url'>, provider: Provider): Promise<readonly Finding[]> =>
      protocolOf(provider).check(provider, brokerUrl(issuer, provider.alias, 'endpoint')),

    /** Sends a browser to the provider; `others` are committed with the trip. Throws `UpstreamRefused`; nothing is stored then. */
    begin: async (
      issuer: Issuer,
      alias: string,
      purpose: Purpose,
      browser: string,
      hints: Hints = {},
      others: readonly Statement[] = [],
    ): Promise<{ readonly provider: Provider; readonly departure: Departure }> => {
      const provider = await providers.find(issuer.view, alias, purpose)
      if (!provider) throw notHere()
      const state = newTripState()
      const begunAt = clock.now()
      const endpoint = brokerUrl(issuer, alias, 'endpoint')
      const { forceAuthn, needsProof, loginHint, acr, locales } = hints
      const trip: Trip = {
        provider,
        endpoint,
        state,
        begunAt,
        forceAuthn,
        needsProof,
        loginHint,
        acr,
        locales,
      }
      const { departure, kept } = await protocolOf(provider).begin(trip)
      const data = { purpose, kept, asked: { forceAuthn, needsProof, acr, begunAt } }
      await trips.begin(placeOf(provider), state, browser, data, others)
      return { provider, departure }
    },

    /**
     * Cookies do not travel with a cross-site POST: the answer waits with its trip, and the browser fetches it by a GET of the
     * same address with this query. Undefined where no trip waits for it.
     */
    receive: async (
      issuer: Issuer,
      alias: string,
      landing: Landing,
    ): Promise<string | undefined> => {
      const provider = await providerOf(issuer, alias)
      const state = protocolOf(provider).stateOf(arrivalOf(landing))
      const isKept = await trips.keepArrival(placeOf(provider), state, landing)
      return isKept ? `${resumeParameter}=${state}` : undefined
    },

    /** Ends the trip that the answer belongs to. Throws `UpstreamRefused`, or `TripRefused` where there was one, which is used up then too. */
    finish: async (
      issuer: Issuer,
      alias: string,
      landing: Landing,
      browser: string | undefined,
    ): Promise<Finished> => {
      const provider = await providerOf(issuer, alias)
      const protocol = protocolOf(provider)
      const given = arrivalOf(landing)
      const resumed = given.query(resumeParameter)
      const state = resumed ?? protocol.stateOf(given)
      const ended = await trips.end(placeOf(provider), state, browser)
      if (!ended || state === undefined)
        throw new UpstreamRefused('expired', 'no trip of this browser waits for this answer')
      const { purpose, kept, asked, arrival, isLate } = ended
      if (purpose.kind === 'logout')
        throw new UpstreamRefused('expired', 'the trip is of a sign-out')
      const trip: Trip = {
        provider,
        endpoint: brokerUrl(issuer, alias, 'endpoint'),
        state,
        begunAt: asked.begunAt,
        forceAuthn: asked.forceAuthn,
        needsProof: asked.needsProof,
        acr: asked.acr,
      }
      const identified = async (): Promise<UpstreamIdentity> => {
        if (isLate) throw new UpstreamRefused('expired', 'the answer comes after ten minutes')
        if (resumed !== undefined && !arrival)
          throw new UpstreamRefused('invalid-answer', 'the answer of the provider is missing')
        // The provider may have been changed while the browser was away.
        if (!(await providers.has(issuer.view, alias, purpose))) throw notHere()
        return counted(provider, () =>
          protocol.finish(trip, kept, arrival ? arrivalOf(arrival) : given),
        )
      }
      const identity = await identified().catch((error: unknown) => {
        throw error instanceof UpstreamRefused ? new TripRefused(error, purpose) : error
      })
      return { provider, identity, purpose }
    },

    /**
     * An answer that a provider sent without being asked: where its document allows that and the answer is good, the browser may
     * be sent to the provider. Throws `UpstreamRefused`.
     */
    invited: async (issuer: Issuer, alias: string, landing: Landing): Promise<void> => {
      const provider = await providerOf(issuer, alias)
      const { unsolicited } = protocolOf(provider)
      if (!unsolicited) throw new UpstreamRefused('expired', 'no trip waits for this answer')
      const endpoint = brokerUrl(issuer, alias, 'endpoint')
      await unsolicited({ provider, endpoint }, arrivalOf(landing))
    },

    describe,

    /** Reads the metadata of the realm's providers again, where it is due. */
    refreshMetadata: async (view: RealmView, signal: AbortSignal): Promise<void> => {
      for (const { alias } of await providers.list(view, { kind: 'link' })) {
        const provider = await providers.findAny(view, alias)
        if (provider && !signal.aborted) await metadata.refresh(provider, signal)
      }
    },

    routes: async (app: FastifyInstance): Promise<void> => {
      await app.register(metadataRoute({ issuers: tokens.issuers, describe }))
      await app.register(addLogout)
    },

    forgetStatements: () => [...trips.forgetStatements(), ...sessions.forgetStatements()],
  }
}

export type BrokerArea = ReturnType<typeof openBroker>
