/**
 * `/realms/{realm}/broker/{alias}/logout`: by POST an identity provider tells us of a logout there (OIDC Back-Channel Logout §2.5);
 * by GET the browser comes back from a logout that began here.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { brokerUrl } from '../addresses.ts'
import { arrivalOf } from '../arrival.ts'
import { type Arrival, type BrokerProtocol, type Provider, UpstreamRefused } from '../protocol.ts'
import type { Providers } from '../providers.ts'
import type { TripCookie } from '../trips/trip-cookie.ts'
import type { Trips } from '../trips/trips.ts'
import type { EndSessions } from './end-sessions.ts'

interface Route {
  Params: { realm: string; alias: string }
}

export interface LogoutRouteParts {
  readonly issuers: Pick<Issuers, 'fresh'>
  readonly providers: Pick<Providers, 'findAny'>
  readonly trips: Pick<Trips, 'end'>
  readonly tripCookie: Pick<TripCookie, 'read'>
  readonly protocolOf: (provider: Provider) => BrokerProtocol
  readonly endSessions: EndSessions
}

const path = '/realms/:realm/broker/:alias/logout'
const longestForm = 64 * 1024

const refused = {
  description: 'The token is refused.',
  type: 'object',
  properties: { error: { type: 'string' } },
  required: ['error'],
}

const describeBack = {
  schema: {
    operationId: 'broker-signed-out',
    summary: 'Returns from a logout at an identity provider',
    tags: ['protocol'],
    response: {
      303: { description: 'To where the sign-out leads.', type: 'null' },
      400: refused,
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
      200: { description: 'The sessions have ended.', type: 'null' },
      303: { description: 'Back to the provider, with our answer.', type: 'null' },
      400: refused,
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

export const logoutRoutes = (parts: LogoutRouteParts) => {
  const { issuers, providers, trips, tripCookie, protocolOf, endSessions } = parts

  const placeOf = async ({
    params: { realm, alias },
  }: FastifyRequest<Route>): Promise<{ issuer: Issuer; provider: Provider }> => {
    const issuer = await issuers.fresh(realm)
    const provider = issuer && (await providers.findAny(issuer.view, alias))
    if (!provider) throw new Problem('not-found', 'There is no such identity provider.')
    return { issuer, provider }
  }

  /** The browser is back from a logout that began here. */
  const back = async (
    request: FastifyRequest<Route>,
    reply: FastifyReply,
    provider: Provider,
    state: string | undefined,
  ): Promise<FastifyReply> => {
    const { realm } = request.params
    const place = { realm, provider: provider.id }
    const ended = await trips.end(place, state, tripCookie.read(request, realm))
    const target = ended?.purpose.kind === 'logout' ? ended.purpose.target : undefined
    // Without a session, the page of the sign-out says that the user is signed out.
    return reply.redirect(target ?? `/realms/${realm}/logout`, 303)
  }

  const take = async (
    request: FastifyRequest<Route>,
    reply: FastifyReply,
    arrival: Arrival,
  ): Promise<FastifyReply> => {
    const { issuer, provider } = await placeOf(request)
    const protocol = protocolOf(provider)
    const url = brokerUrl(issuer, provider.alias, 'logout')
    const state = protocol.loggedOut
      ? await protocol.loggedOut(provider, arrival, url)
      : arrival.query('state')
    if (state !== undefined || (arrival.method === 'GET' && !protocol.loggedOut))
      return back(request, reply, provider, state)
    if (!protocol.endSession) throw new Problem('not-found', 'It takes no logouts here.')
    const ended = await protocol.endSession(provider, arrival, url)
    await endSessions(issuer, provider, ended, request.ip)
    const departure = await ended.answer?.(true)
    return departure?.kind === 'redirect'
      ? reply.redirect(departure.url, 303)
      : reply.code(200).send()
  }

  const handle =
    (method: 'GET' | 'POST') =>
    async (request: FastifyRequest<Route>, reply: FastifyReply): Promise<FastifyReply> => {
      reply.header('cache-control', 'no-store')
      const rawQuery = request.url.split('?').slice(1).join('?')
      const rawBody = typeof request.body === 'string' ? request.body : ''
      try {
        return await take(request, reply, arrivalOf({ method, rawQuery, rawBody }))
      } catch (error) {
        if (!(error instanceof UpstreamRefused)) throw error
        const { reason, message: detail } = error
        request.log.warn({ reason, detail }, 'logout of an identity provider refused')
        return reply.code(400).send({ error: 'invalid_request' })
      }
    }

  return async (app: FastifyInstance): Promise<void> => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: longestForm },
      (_request, body, done) => done(null, body),
    )
    app.get<Route>(path, describeBack, handle('GET'))
    app.post<Route>(path, describeTold, handle('POST'))
  }
}
