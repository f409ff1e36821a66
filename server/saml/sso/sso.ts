/**
 * Single sign-on (SAML Profiles §4.1): AuthnRequests by HTTP-Redirect and HTTP-POST, sign-in that starts here, and the way
 * back to it for a request that waited for its user.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nameIdFormatOf } from '#schemas/drivers/saml.ts'
import { SamlClient } from '#schemas/kinds/saml-client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
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
import { type ReceivedRequest, receivePost, receiveRedirect } from '../bindings/receive.ts'
import { describePage } from '../description.ts'
import { SamlRefused, SamlStatusError } from '../errors.ts'
import { findServiceProvider, optionsOf, type ServiceProvider } from '../service-provider.ts'
import { checkAuthnRequest, targetOf } from './authn-request.ts'
import { expired, type Journey, type SsoFlow, type Visit } from './sso-flow.ts'
import type { SsoRequest } from './sso-request.ts'
import type { WaitingRequests } from './waiting-requests.ts'

export interface SsoParts {
  readonly clock: Clock
  readonly issuers: Issuers
  readonly recorder: Recorder
  readonly waitingRequests: WaitingRequests
  readonly flow: SsoFlow
}

const rawQueryOf = ({ url }: FastifyRequest): string => {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at + 1)
}

/** Nothing of what it says was trusted; who is named in it is known. */
const recordRefusal = async (
  recorder: Recorder,
  { request, issuer }: Visit,
  error: unknown,
): Promise<never> => {
  if (error instanceof SamlRefused && error.provider)
    await recorder.append(
      [],
      [
        {
          type: 'SAML_SSO',
          realm: issuer.name,
          actor: error.provider.id,
          sourceIp: request.ip,
          outcome: 'FAILURE',
          resourceType: SamlClient.resourceType,
          resourceId: error.provider.id,
          detail: error.message,
        },
      ],
    )
  throw error
}

export const ssoRoutes = ({ clock, issuers, recorder, waitingRequests, flow }: SsoParts) => {
  const visitOf = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<Visit> => ({ request, reply, issuer: await freshIssuer(issuers, request) })

  const begin = async (
    visit: Visit,
    received: ReceivedRequest,
    goOn: (journey: Journey) => Promise<FastifyReply>,
  ): Promise<FastifyReply> => {
    const { issuer } = visit
    const { provider, relayState } = received
    const target = targetOf(issuer, received, clock.now())
    const answered = { ...target, ...(relayState === undefined ? {} : { relayState }) }
    let request: SsoRequest
    try {
      if (target.acs.binding !== 'HTTP-POST')
        throw new SamlRefused('responses by HTTP-Artifact are not offered', { provider })
      request = checkAuthnRequest(issuer, received, target)
    } catch (error) {
      if (error instanceof SamlStatusError) return flow.tell(visit, provider, answered, error)
      throw error
    }
    return goOn({ provider, request })
  }

  /** Cookies do not travel with a POST from another site: it is stored, and the browser comes back with them. */
  const store = async ({ reply, issuer }: Visit, { provider, request }: Journey) => {
    const waiting = { entityId: provider.entityId, request }
    const { handle, statements } = waitingRequests.create(issuer.name, provider.id, waiting)
    await recorder.append(statements, [])
    return reply.redirect(`/realms/${issuer.name}${ssoPath}/${handle}`, 303)
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
      return recordRefusal(recorder, visit, error)
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
      return await begin(visit, received, (journey) => store(visit, journey))
    } catch (error) {
      return recordRefusal(recorder, visit, error)
    }
  }

  const initiated = (visit: Visit, provider: ServiceProvider): SsoRequest => {
    const options = optionsOf(visit.issuer, provider)
    if (!options.idpInitiatedSsoEnabled)
      throw new SamlRefused('sign-in for this service provider starts there, not here', {
        status: 403,
        provider,
      })
    const acs = provider.acs.find(({ binding }) => binding === 'HTTP-POST')
    if (!acs) throw new SamlRefused('the service provider takes no response by POST', { provider })
    const { RelayState: relayState } = visit.request.query as { RelayState?: unknown }
    const { defaultAuthnContextClassRef: wanted } = provider.doc
    const comparison = options.authnContextComparison ?? 'exact'
    return {
      acs: { url: acs.url, binding: acs.binding },
      ...(typeof relayState === 'string' ? { relayState } : {}),
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
      return await flow.proceed(visit, { provider, request: initiated(visit, provider) })
    } catch (error) {
      return recordRefusal(recorder, visit, error)
    }
  }

  /** What it asked for must be right still. */
  const journeyOf = async (
    { issuer }: Visit,
    handle: string,
    http: FastifyRequest,
  ): Promise<Journey> => {
    const found = await waitingRequests.find(issuer.name, handle)
    if (!found) throw expired()
    const provider = await findServiceProvider(issuer, found.entityId)
    const { url, binding } = found.request.acs
    if (!provider?.acs.some((one) => one.url === url && one.binding === binding))
      throw new SamlRefused('the service provider, or its address, is no longer there')
    if (found.request.id === undefined && !optionsOf(issuer, provider).idpInitiatedSsoEnabled)
      throw new SamlRefused('sign-in for this service provider starts there, not here', {
        status: 403,
        provider,
      })
    if (found.browser === undefined) return { provider, request: found.request }
    const waiting = await waitingRequests.findOf(http, issuer.name, handle)
    if (!waiting) throw expired()
    return { provider, request: waiting.request, waiting }
  }

  const resume = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const { handle } = request.params
    const journey = await journeyOf(visit, handle, request)
    if (!journey.waiting) await recorder.append(waitingRequests.end(handle), [])
    return flow.proceed(visit, journey)
  }

  const decide = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const field = formOf(request)
    const { waiting, ...journey } = await journeyOf(visit, request.params.handle, request)
    if (!waiting) throw expired()
    const said = { decision: field('decision'), csrf: field('_csrf') ?? '' }
    return flow.decide(visit, { ...journey, waiting }, said)
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
