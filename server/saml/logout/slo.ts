/**
 * The single logout service (SAML Profiles §4.4): LogoutRequests and LogoutResponses by HTTP-Redirect, HTTP-POST and SOAP, all
 * of them signed, and the page that tells the other applications of the session.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { Refusals } from '#server/audit/floods/refusals.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { FramesOf } from '#server/sessions/front-channel.ts'
import type { SamlSessions } from '#server/sessions/saml-sessions.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import type { ProtocolVisit } from '#server/sign-in/waiting/round-trip.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { XmlRefused } from '#server/xml/index.ts'
import { envelopeOf, sendSoap } from '#server/xml/messages/soap.ts'
import { freshIssuer, type HandleRoute, type RealmRoute, sloPath, urlOf } from '../addresses.ts'
import { formOf } from '../bindings/forms.ts'
import { checkHeader } from '../bindings/message-header.ts'
import {
  gated,
  type ReceivedRequest,
  rawQueryOf,
  receivePost,
  receiveRedirect,
  receiveSoap,
} from '../bindings/receive.ts'
import { refuseSoap } from '../bindings/refuse-soap.ts'
import { describePage, describeStatus } from '../description.ts'
import { SamlRefused, SamlStatusError, toldByStatus } from '../errors.ts'
import { createFailures } from '../failures.ts'
import type { ServiceProvider } from '../service-provider.ts'
import type { EndSessions } from './end-sessions.ts'
import { type LogoutFlow, partial, type Rest } from './logout-flow.ts'
import type { LogoutMessages } from './logout-messages.ts'
import {
  checkLogoutRequest,
  isAsynchronous,
  isOver,
  logoutHeaderOf,
  statusCodesOf,
} from './logout-request.ts'

export interface SloParts {
  readonly clock: Clock
  readonly issuers: Issuers
  readonly recorder: Pick<Recorder, 'append'>
  readonly refusals: Pick<Refusals, 'record'>
  readonly metrics: Pick<Metrics, 'samlLogout'>
  readonly sessions: Pick<Sessions, 'find'>
  readonly samlSessions: SamlSessions
  readonly browser: Browser
  readonly messages: LogoutMessages
  readonly endSessions: EndSessions
  readonly flow: LogoutFlow
  /** Of the OIDC clients of the session. */
  readonly framesOf: FramesOf
}

interface FrameRoute {
  Params: HandleRoute['Params'] & { index: string }
}

type Message = 'samlp:LogoutRequest' | 'samlp:LogoutResponse'

const nameOf = (isResponse: boolean): Message =>
  isResponse ? 'samlp:LogoutResponse' : 'samlp:LogoutRequest'

export const sloRoutes = (parts: SloParts) => {
  const { clock, issuers, recorder, sessions, samlSessions, browser, messages, endSessions } = parts
  const { flow, framesOf, metrics, refusals } = parts
  const failures = createFailures({ recorder, refusals }, 'LOGOUT')

  const visitOf = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<ProtocolVisit> => ({ request, reply, issuer: await freshIssuer(issuers, request) })

  /** The id of the browser's own session, where it sends its cookie. */
  const ownSession = async ({ request, issuer }: ProtocolVisit): Promise<string | undefined> => {
    const cookie = browser.sessionCookie(request, issuer.name)
    const found = cookie && (await sessions.find(issuer.name, cookie, issuer.settings))
    return found ? found.session.sid : undefined
  }

  const end = async (
    visit: ProtocolVisit,
    received: ReceivedRequest,
    { id, inBrowser }: { readonly id: string; readonly inBrowser: boolean },
  ) => {
    const { issuer, request } = visit
    const { provider, relayState } = received
    const own = await ownSession(visit)
    const by = isAsynchronous(received.message)
      ? undefined
      : { entityId: provider.entityId, id, relayState }
    let left: { readonly rest?: Rest | undefined; readonly isPartial: boolean } = {
      isPartial: false,
    }
    const ended = await endSessions({
      issuer,
      provider,
      request: toldByStatus(() => checkLogoutRequest(issuer, received, id)),
      sourceIp: request.ip,
      together: async (sids) => {
        const frames = (await Promise.all(sids.map((sid) => framesOf(issuer, sid)))).flat()
        if (!inBrowser) {
          // The answer goes out before any other application can have confirmed it.
          left = { isPartial: frames.length > 0 || (await flow.hasOthers(issuer, sids, provider)) }
          return []
        }
        const after = { frames, by, application: provider.displayName }
        left = await flow.begin(issuer, sids, after, provider)
        return left.rest?.statements ?? []
      },
    })
    metrics.samlLogout(issuer.name, 'success')
    if (ended.some(({ session }) => session.sid === own)) browser.signOut(visit.reply, issuer.name)
    return left
  }

  const notEnded = async (
    visit: ProtocolVisit,
    provider: ServiceProvider,
    { code, message }: SamlStatusError,
  ): Promise<void> => {
    metrics.samlLogout(visit.issuer.name, 'failure')
    await failures.record(visit, provider, `${code}: ${message}`)
  }

  /** In the browser. */
  const logOut = async (visit: ProtocolVisit, received: ReceivedRequest): Promise<FastifyReply> => {
    const { provider, relayState } = received
    const rules = { now: clock.now(), needsDestination: true }
    const id = logoutHeaderOf(visit.issuer, received, rules)
    const asking = isAsynchronous(received.message) ? undefined : { id, relayState }
    try {
      const { rest, isPartial } = await end(visit, received, { id, inBrowser: true })
      if (rest) return visit.reply.redirect(rest.path, 303)
      return await flow.answer(visit, provider, asking, isPartial ? partial() : undefined)
    } catch (error) {
      if (!(error instanceof SamlStatusError)) throw error
      await notEnded(visit, provider, error)
      return flow.answer(visit, provider, asking, error)
    }
  }

  /** A LogoutResponse to a LogoutRequest of ours, in a frame of the page. */
  const noteAnswer = async (
    visit: ProtocolVisit,
    received: ReceivedRequest,
  ): Promise<FastifyReply> => {
    const { issuer } = visit
    const { provider, message } = received
    checkHeader(received, { issuer, path: sloPath, now: clock.now(), needsDestination: true })
    const { InResponseTo: requestId = '' } = message.attributes
    const codes = gated(() => statusCodesOf(message), provider)
    const outcome = isOver(codes) ? 'done' : 'failed'
    try {
      await recorder.append([samlSessions.answered(provider.id, requestId, outcome)], [])
    } catch (error) {
      if (!(error instanceof GuardFailedError)) throw error
      throw new SamlRefused('the InResponseTo is of no LogoutRequest that waits for an answer', {
        provider,
      })
    }
    if (outcome === 'failed')
      await failures.record(visit, provider, `the service provider answered ${codes.join(' ')}`)
    return flow.signedOut(visit, provider)
  }

  const take = async (
    visit: ProtocolVisit,
    name: Message,
    receive: () => Promise<ReceivedRequest>,
  ): Promise<FastifyReply> => {
    try {
      const received = await receive()
      return name === 'samlp:LogoutRequest'
        ? await logOut(visit, received)
        : await noteAnswer(visit, received)
    } catch (error) {
      await failures.recordRefusal(visit, error)
      throw error
    }
  }

  const redirect = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const rawQuery = rawQueryOf(request)
    const name = nameOf(/(?:^|&)SAMLResponse=/.test(rawQuery))
    const options = { issuer: visit.issuer, name, signedOnly: true }
    return take(visit, name, () => receiveRedirect(rawQuery, options))
  }

  /** From a service provider, without a browser: what only a browser can tell stays untold. */
  const soap = async (visit: ProtocolVisit, envelope: string): Promise<FastifyReply> => {
    const { issuer, reply } = visit
    try {
      const received = await receiveSoap(envelope, { issuer, name: 'samlp:LogoutRequest' })
      const { provider } = received
      const rules = { now: clock.now(), needsDestination: false }
      const id = logoutHeaderOf(issuer, received, rules)
      const answer = async (outcome: SamlStatusError | undefined) =>
        isAsynchronous(received.message)
          ? reply.code(204).send()
          : sendSoap(
              reply,
              await messages.signed(issuer, provider, messages.response(issuer, { id }, outcome)),
            )
      try {
        const { isPartial } = await end(visit, received, { id, inBrowser: false })
        return await answer(isPartial ? partial() : undefined)
      } catch (error) {
        if (!(error instanceof SamlStatusError)) throw error
        await notEnded(visit, provider, error)
        return await answer(error)
      }
    } catch (error) {
      if (!(error instanceof SamlRefused || error instanceof XmlRefused)) throw error
      await failures.recordRefusal(visit, error)
      return refuseSoap(reply, error)
    }
  }

  const post = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const envelope = envelopeOf(request)
    if (envelope !== undefined) return soap(visit, envelope)
    const field = formOf(request)
    const [asked, answered] = [field('SAMLRequest'), field('SAMLResponse')]
    if (asked !== undefined && answered !== undefined)
      throw new SamlRefused('the form must have either SAMLRequest or SAMLResponse')
    const name = nameOf(answered !== undefined)
    const form = { message: answered ?? asked ?? '', relayState: field('RelayState') }
    const options = { issuer: visit.issuer, name, signedOnly: true }
    return take(visit, name, () => receivePost(form, options))
  }

  const show = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) =>
    flow.show(await visitOf(request, reply), request.params.handle)

  const status = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => ({
    status: await flow.status(await visitOf(request, reply), request.params.handle),
  })

  const frame = async (request: FastifyRequest<FrameRoute>, reply: FastifyReply) => {
    const { handle, index } = request.params
    return flow.frame(await visitOf(request, reply), handle, Number(index))
  }

  return (app: FastifyInstance): void => {
    // A HEAD must not end what it only asks about.
    const only = { exposeHeadRoute: false }
    const events = ['LOGOUT'] as const
    const ends = 'Ends a session for a service provider, or takes its answer'
    const form = {
      SAMLRequest: 'A LogoutRequest, in base64.',
      SAMLResponse: 'A LogoutResponse, in base64.',
      RelayState: 'Comes back as it is.',
    }
    app.get<RealmRoute>(
      urlOf(sloPath),
      { ...describePage('saml-logout', ends, { events }), ...only },
      redirect,
    )
    app.post<RealmRoute>(
      urlOf(sloPath),
      describePage('saml-logout-by-form', ends, { form, events }),
      post,
    )
    app.get<HandleRoute>(
      urlOf(`${sloPath}/:handle`),
      {
        ...describePage('continue-saml-logout', 'Tells the applications of a session', { events }),
        ...only,
      },
      show,
    )
    app.get<HandleRoute>(
      urlOf(`${sloPath}/:handle/status`),
      {
        ...describeStatus('read-saml-logout', 'Whether applications have still to answer'),
        ...only,
      },
      status,
    )
    app.get<FrameRoute>(
      urlOf(`${sloPath}/:handle/frames/:index`),
      {
        ...describePage('saml-logout-frame', 'Takes a LogoutRequest to a service provider', {
          events,
        }),
        ...only,
      },
      frame,
    )
  }
}
