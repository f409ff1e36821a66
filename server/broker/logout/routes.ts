/**
 * `/realms/{realm}/broker/{alias}/logout`: an identity provider tells us of a logout there (OIDC Back-Channel Logout §2.5; SAML
 * Profiles §4.4), or the browser comes back from a logout that began here and left by `…/leave`.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { PageContext } from '#server/http/pages/context.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'
import type { Pages } from '#server/http/pages/pages.ts'
import { problemReply } from '#server/http/problem-schema.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { brokerUrl } from '../addresses.ts'
import { arrivalOf, landingOf, resumeParameter, takeRawForms } from '../arrival.ts'
import { type DeparturePages, sendDeparture } from '../departure-pages.ts'
import {
  type Arrival,
  type BrokerProtocol,
  type EndedUpstream,
  LogoutRefused,
  type Provider,
  UpstreamRefused,
} from '../protocol.ts'
import { nameOf, type Providers } from '../providers.ts'
import type { TripCookie } from '../trips/trip-cookie.ts'
import type { Trips } from '../trips/trips.ts'
import type { EndSessions } from './end-sessions.ts'
import type { KeptLeave } from './leave-upstream.ts'

interface Route {
  Params: { realm: string; alias: string }
}

/** The provider that a message is of or for. */
interface At {
  readonly issuer: Issuer
  readonly provider: Provider
  readonly protocol: BrokerProtocol
  /** Our address that it came to. */
  readonly url: string
}

export interface LogoutRouteParts {
  readonly issuers: Pick<Issuers, 'fresh'>
  readonly providers: Pick<Providers, 'findAny'>
  readonly pages: Pages & DeparturePages
  readonly trips: Pick<Trips, 'look' | 'keepArrival' | 'end'>
  readonly tripCookie: Pick<TripCookie, 'read'>
  readonly protocolOf: (provider: Provider) => BrokerProtocol
  readonly endSessions: EndSessions
}

const path = '/realms/:realm/broker/:alias/logout'
const leavePath = '/realms/:realm/broker/:alias/leave'
const longestForm = 64 * 1024

const refused = {
  description: 'The token is refused.',
  type: 'object',
  properties: { error: { type: 'string' } },
  required: ['error'],
}

const page = pageReply('A page that takes the browser to the identity provider.')

const noProvider = problemReply('There is no such provider.')

const describeLeave = {
  schema: {
    operationId: 'leave-for-broker-logout',
    summary:
      'Takes the browser to the identity provider that its session came from, to sign out there',
    tags: ['protocol'],
    querystring: {
      type: 'object',
      properties: { state: { type: 'string', description: 'The sign-out of this browser.' } },
    },
    response: {
      200: page,
      303: { description: 'There is no such sign-out in this browser.', type: 'null' },
      404: noProvider,
    },
  },
}

const describeBack = {
  schema: {
    operationId: 'broker-signed-out',
    summary: 'Returns from a logout at an identity provider',
    tags: ['protocol'],
    response: {
      303: { description: 'To where the sign-out leads.', type: 'null' },
      400: refused,
      404: noProvider,
    },
  },
  config: { events: ['LOGOUT'] as const },
}

const describeTold = {
  schema: {
    operationId: 'broker-backchannel-logout',
    summary: 'Ends sessions that ended at an identity provider',
    tags: ['protocol'],
    response: {
      200: { ...page, description: 'The sessions have ended; a SAML provider gets a form back.' },
      303: { description: 'Back to the provider, with our answer.', type: 'null' },
      400: refused,
      404: noProvider,
    },
  },
  config: {
    events: ['LOGOUT'] as const,
    body: {
      type: 'object',
      properties: {
        logout_token: { type: 'string', description: 'The logout token of the identity provider.' },
      },
      required: ['logout_token'],
    },
  },
}

const reasonOf = (error: unknown): string => {
  if (!(error instanceof UpstreamRefused)) throw error
  return error.message
}

/** Every other error is thrown on. */
const warn = (request: FastifyRequest, error: unknown): void => {
  const detail = reasonOf(error)
  const { reason } = error as UpstreamRefused
  request.log.warn({ reason, detail }, 'logout of an identity provider refused')
}

export const logoutRoutes = (parts: LogoutRouteParts) => {
  const { issuers, providers, trips, tripCookie, protocolOf, pages, endSessions } = parts

  const placeOf = async ({
    params: { realm, alias },
  }: FastifyRequest<Route>): Promise<{ issuer: Issuer; provider: Provider }> => {
    const issuer = await issuers.fresh(realm)
    const provider = issuer && (await providers.findAny(issuer.view, alias))
    if (!provider) throw new Problem('not-found', 'There is no such identity provider.')
    return { issuer, provider }
  }

  /** The page of the sign-out says that the user is signed out: there is no session. */
  const signedOut = (reply: FastifyReply, realm: string): FastifyReply =>
    reply.redirect(`/realms/${realm}/logout`, 303)

  const contextOf = (request: FastifyRequest, { name: realm, settings }: Issuer): PageContext => ({
    realm,
    ...pages.language(request, settings),
    branding: settings,
  })

  /** A sign-out of this browser leaves for the provider. */
  const leave = async (
    request: FastifyRequest<Route>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const { issuer, provider } = await placeOf(request)
    const { name: realm } = issuer
    const { query } = arrivalOf(landingOf(request))
    const place = { realm, provider: provider.id }
    const trip = await trips.look(place, query('state'), tripCookie.read(request, realm))
    if (trip?.purpose.kind !== 'logout') return signedOut(reply, realm)
    const { departure } = trip.kept as KeptLeave
    const context = contextOf(request, issuer)
    return sendDeparture(pages, reply, departure, {
      context,
      provider: nameOf(provider),
      afterForm: true,
    })
  }

  /** The browser is back from a logout that began here. */
  const back = async (
    request: FastifyRequest<Route>,
    reply: FastifyReply,
    { issuer, provider, protocol, url }: At,
    { state, arrival }: { readonly state: string | undefined; readonly arrival: Arrival },
  ): Promise<FastifyReply> => {
    const { name: realm } = issuer
    const place = { realm, provider: provider.id }
    const ended = await trips.end(place, state, tripCookie.read(request, realm))
    if (ended?.purpose.kind !== 'logout' || ended.isLate) return signedOut(reply, realm)
    const { kept } = ended.kept as KeptLeave
    const answer = ended.arrival ? arrivalOf(ended.arrival) : arrival
    // The session here is over whatever the provider says, and whether or not its answer proves anything.
    const detail = await protocol.loggedOut?.(provider, kept, answer, url).catch(reasonOf)
    if (detail !== undefined) request.log.warn({ detail }, 'logout at an identity provider')
    const { target } = ended.purpose
    return target === undefined ? signedOut(reply, realm) : reply.redirect(target, 303)
  }

  /** Cookies do not travel with a cross-site POST: the answer waits with its trip, and the browser fetches it. */
  const keep = async (
    request: FastifyRequest<Route>,
    reply: FastifyReply,
    { issuer: { name: realm }, provider, url }: At,
    state: string | undefined,
  ): Promise<FastifyReply> => {
    const place = { realm, provider: provider.id }
    const isKept = await trips.keepArrival(place, state, landingOf(request))
    return isKept
      ? reply.redirect(`${url}?${resumeParameter}=${state}`, 303)
      : signedOut(reply, realm)
  }

  /** A logout of the provider. */
  const told = async (
    request: FastifyRequest<Route>,
    reply: FastifyReply,
    { issuer, provider, protocol, url }: At,
    arrival: Arrival,
  ): Promise<FastifyReply> => {
    if (!protocol.endSession) throw new Problem('not-found', 'It takes no logouts here.')
    let answer: EndedUpstream['answer']
    let refused: unknown
    try {
      const ended = await protocol.endSession(provider, arrival, url)
      answer = ended.answer
      await endSessions(issuer, provider, ended, request.ip)
    } catch (error) {
      if (error instanceof LogoutRefused) answer = error.answer
      refused = error
    }
    // By our answer alone the browser gets back to the provider, and on to its other applications (SAML Profiles §4.4.3.4).
    const departure = await answer?.(refused === undefined)
    if (refused !== undefined) {
      if (!departure) throw refused
      warn(request, refused)
    }
    if (!departure) return reply.code(200).send()
    return sendDeparture(pages, reply, departure, {
      context: contextOf(request, issuer),
      provider: nameOf(provider),
      afterForm: false,
    })
  }

  const take = async (
    request: FastifyRequest<Route>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const { issuer, provider } = await placeOf(request)
    const protocol = protocolOf(provider)
    const at = { issuer, provider, protocol, url: brokerUrl(issuer, provider.alias, 'logout') }
    const arrival = arrivalOf(landingOf(request))
    const resumed = arrival.query(resumeParameter)
    const answer = resumed === undefined ? protocol.logoutAnswer(arrival) : { state: resumed }
    if (!answer) return told(request, reply, at, arrival)
    return arrival.method === 'POST'
      ? keep(request, reply, at, answer.state)
      : back(request, reply, at, { state: answer.state, arrival })
  }

  const handle = async (
    request: FastifyRequest<Route>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    reply.header('cache-control', 'no-store')
    try {
      return await take(request, reply)
    } catch (error) {
      warn(request, error)
      return reply.code(400).send({ error: 'invalid_request' })
    }
  }

  return async (app: FastifyInstance): Promise<void> => {
    takeRawForms(app, longestForm)
    app.get<Route>(leavePath, describeLeave, leave)
    app.get<Route>(path, describeBack, handle)
    app.post<Route>(path, describeTold, handle)
  }
}
