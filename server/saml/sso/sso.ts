/**
 * Single sign-on (SAML Profiles §4.1): AuthnRequests by HTTP-Redirect and HTTP-POST, sign-in that starts here, and the way
 * back to it for a request that waited for its user.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nameIdFormatOf } from '#schemas/drivers/saml.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Refusals } from '#server/audit/floods/refusals.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { ProtocolVisit } from '#server/sign-in/waiting/round-trip.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import {
  freshIssuer,
  type HandleRoute,
  initiatePath,
  type RealmRoute,
  ssoPath,
  urlOf,
} from '../addresses.ts'
import { formOf } from '../bindings/forms.ts'
import {
  type ReceivedRequest,
  rawQueryOf,
  receivePost,
  receiveRedirect,
} from '../bindings/receive.ts'
import { checkRelayState } from '../bindings/relay-state.ts'
import { describePage } from '../description.ts'
import { SamlRefused, SamlStatusError, toldByStatus } from '../errors.ts'
import { createFailures } from '../failures.ts'
import { findServiceProvider, optionsOf, type ServiceProvider } from '../service-provider.ts'
import { checkAuthnRequest, targetOf } from './authn-request.ts'
import type { SsoFlow } from './sso-flow.ts'
import { type SsoJourney, type SsoTrip, startsThere } from './sso-protocol.ts'
import type { SsoRequest } from './sso-request.ts'

export interface SsoParts {
  readonly clock: Clock
  readonly issuers: Issuers
  readonly recorder: Recorder
  readonly refusals: Pick<Refusals, 'record'>
  readonly trip: SsoTrip
  readonly flow: SsoFlow
}

/** SAML Bindings §3.4.3, §3.5.3. Many service providers send more, so that it is given back all the same. */
const mostRelayStateBytes = 80

const warnOfLength = ({ request }: ProtocolVisit, received: ReceivedRequest): void => {
  const bytes = Buffer.byteLength(received.relayState ?? '')
  if (bytes > mostRelayStateBytes)
    request.log.warn(
      { entityId: received.provider.entityId, bytes },
      `the RelayState of the service provider has more than ${mostRelayStateBytes} bytes`,
    )
}

export const ssoRoutes = ({ clock, issuers, recorder, refusals, trip, flow }: SsoParts) => {
  const failures = createFailures({ recorder, refusals }, 'SAML_SSO')

  const visitOf = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<ProtocolVisit> => ({ request, reply, issuer: await freshIssuer(issuers, request) })

  const begin = async (
    visit: ProtocolVisit,
    received: ReceivedRequest,
    goOn: (journey: SsoJourney) => Promise<FastifyReply>,
  ): Promise<FastifyReply> => {
    const { issuer } = visit
    const { provider, relayState } = received
    const target = targetOf(issuer, received, clock.now())
    warnOfLength(visit, received)
    const answered = { ...target, ...(relayState === undefined ? {} : { relayState }) }
    let request: SsoRequest
    try {
      request = toldByStatus(() => checkAuthnRequest(issuer, received, target))
    } catch (error) {
      if (error instanceof SamlStatusError) return flow.tell(visit, provider, answered, error)
      throw error
    }
    return goOn({ client: provider, request })
  }

  const redirect = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    try {
      const received = await receiveRedirect(rawQueryOf(request), {
        issuer: visit.issuer,
        name: 'samlp:AuthnRequest',
      })
      return await begin(visit, received, (journey) => flow.proceed(visit, journey))
    } catch (error) {
      await failures.recordRefusal(visit, error)
      throw error
    }
  }

  const post = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const field = formOf(request)
    try {
      const received = await receivePost(
        { message: field('SAMLRequest') ?? '', relayState: field('RelayState') },
        { issuer: visit.issuer, name: 'samlp:AuthnRequest' },
      )
      return await begin(visit, received, (journey) => trip.store(visit, journey))
    } catch (error) {
      await failures.recordRefusal(visit, error)
      throw error
    }
  }

  const initiated = (visit: ProtocolVisit, provider: ServiceProvider): SsoRequest => {
    const options = optionsOf(visit.issuer, provider)
    if (!options.idpInitiatedSsoEnabled) throw startsThere(provider)
    const [acs] = provider.acs
    if (!acs) throw new SamlRefused('the service provider has no address', { provider })
    const { RelayState: relayState } = visit.request.query as { RelayState?: string | string[] }
    if (Array.isArray(relayState))
      throw new SamlRefused('the parameter RelayState is there twice', { provider })
    checkRelayState(relayState, provider)
    const { defaultAuthnContextClassRef: wanted } = provider.doc
    const comparison = options.authnContextComparison ?? 'exact'
    return {
      acs: { url: acs.url, binding: acs.binding },
      ...(relayState === undefined ? {} : { relayState }),
      forceAuthn: options.forceAuthn,
      isPassive: false,
      nameId: { format: nameIdFormatOf(options.nameIdFormat) ?? 'persistent', allowCreate: true },
      ...(wanted === undefined ? {} : { context: { comparison, classes: [wanted] } }),
    }
  }

  const initiate = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const { entityId } = request.query as { entityId?: unknown }
    const provider =
      typeof entityId === 'string' ? await findServiceProvider(visit.issuer, entityId) : undefined
    if (!provider) throw new SamlRefused('there is no such service provider in this realm')
    try {
      return await flow.proceed(visit, { client: provider, request: initiated(visit, provider) })
    } catch (error) {
      await failures.recordRefusal(visit, error)
      throw error
    }
  }

  const resume = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    return flow.proceed(visit, await trip.resume(visit, request.params.handle))
  }

  const decide = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const field = formOf(request)
    const journey = await trip.bound(visit, request.params.handle)
    const said = { decision: field('decision'), csrf: field('_csrf') ?? '' }
    return flow.decide(visit, journey, said)
  }

  return (app: FastifyInstance): void => {
    // A HEAD must not finish what it only asks about.
    const only = { exposeHeadRoute: false }
    const asked = { SAMLRequest: 'An AuthnRequest, in base64.', RelayState: 'Comes back as it is.' }
    const begins = 'Asks a user to sign in for a service provider'
    app.get<RealmRoute>(urlOf(ssoPath), { ...describePage('saml-sso', begins), ...only }, redirect)
    app.post<RealmRoute>(
      urlOf(ssoPath),
      describePage('saml-sso-by-form', begins, { form: asked, required: ['SAMLRequest'] }),
      post,
    )
    app.get<RealmRoute>(
      urlOf(initiatePath),
      { ...describePage('saml-initiate', 'Starts a sign-in for a service provider here'), ...only },
      initiate,
    )
    const goesOn = 'Goes on with a request that waited for its user'
    app.get<HandleRoute>(
      urlOf(`${ssoPath}/:handle`),
      { ...describePage('continue-saml-sso', goesOn), ...only },
      resume,
    )
    app.post<HandleRoute>(
      urlOf(`${ssoPath}/:handle`),
      describePage('decide-saml-sso', 'With which account the user goes on', {
        form: { decision: 'continue or other.', _csrf: 'The token of the form.' },
        required: ['decision', '_csrf'],
      }),
      decide,
    )
  }
}
