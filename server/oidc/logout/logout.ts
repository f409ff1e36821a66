/**
 * Sign-out (OIDC RP-Initiated Logout 1.0, Front-Channel Logout 1.0), for clients and for the realm's own pages. Only an id
 * token of the current session skips the confirmation; an id token of another session does not. Otherwise the user confirms
 * in a form with a CSRF token.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Client, displayNameOf } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { BrokerArea } from '#server/broker/open.ts'
import { addressGroup } from '#server/http/client-address.ts'
import type { MapError } from '#server/http/errors.ts'
import { installPageErrors } from '#server/http/pages/page-errors.ts'
import { withQuery } from '#server/http/query.ts'
import { createMemoryLimiter } from '#server/http/rate-limit.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { doerOf } from '#server/sessions/doer.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import type { BeginSamlLogout, Frame, FramesOf } from '#server/sessions/front-channel.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import { errorContext, pageContext } from '#server/sign-in/pages/visit.ts'
import { formTargets } from '#server/sign-in/waiting/form-targets.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidRequest, OAuthError } from '../errors.ts'
import { freshIssuer, type HandleRoute, type RealmRoute } from '../issuer.ts'
import type { OidcPages } from '../page-definitions.ts'
import { formOf, type Parameters, queryOf, stateOf } from '../parameters.ts'
import { describeLogout, describeSignOut, describeStored } from './describe-logout.ts'
import { createLogoutRequests, logoutFields } from './logout-requests.ts'

export interface LogoutParts {
  readonly clock: Clock
  readonly issuers: Issuers
  readonly verifier: Verifier
  readonly sessions: Sessions
  readonly storage: Storage
  readonly recorder: Recorder
  readonly browser: Browser
  readonly pages: OidcPages
  readonly mapError?: MapError | undefined
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  readonly beginSamlLogout: BeginSamlLogout
  /** The pages of clients that sign the user out in the browser. */
  readonly framesOf: FramesOf
  readonly broker: Pick<BrokerArea, 'leaveUpstream' | 'tripCookie'>
}

const path = '/logout'
const csrfField = '_csrf'
/** Forms of other sites that are stored for one network, without any sign-in: enough for an office behind one address. */
const stored = { limit: 120, seconds: 60, burst: 300 }
/** Seconds that the clients in the frames have before the browser goes on. */
const frameSeconds = 3

interface Visit {
  readonly request: FastifyRequest<RealmRoute>
  readonly reply: FastifyReply
  readonly issuer: Issuer
  readonly found: FoundSession | undefined
}

/** What was asked for, once everything about it is right. */
interface Asked {
  readonly parameters: Parameters
  /** The session that the hint is of. */
  readonly sid?: string | undefined
  readonly client?: TokenClient | undefined
  /** Where the browser goes afterwards, `state` included. */
  readonly target?: string | undefined
}

interface Ended {
  /** What was asked for, with the identity provider as the target where the session ends there too. */
  readonly asked: Asked
  readonly frames: readonly Frame[]
  /** Where the browser goes on to where service providers have to be told there. */
  readonly progress: string | undefined
}

const tell = (error: unknown) => {
  if (!(error instanceof OAuthError) || error.status >= 500) return undefined
  if (error.status === 404) return { status: 404, error: 'not-found' } as const
  return { status: 400, error: 'sign-out-request', detail: error.message } as const
}

const createHandlers = (parts: LogoutParts) => {
  const { browser, issuers, verifier, sessions, storage, recorder, pages, jobs } = parts
  const { beginSamlLogout, framesOf, broker } = parts
  const requests = createLogoutRequests(parts)
  const limiter = createMemoryLimiter(parts.clock, stored)

  const visitOf = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<Visit> => {
    const issuer = await freshIssuer(issuers, request)
    const cookie = browser.sessionCookie(request, issuer.name)
    const found =
      cookie === undefined ? undefined : await sessions.find(issuer.name, cookie, issuer.settings)
    return { request, reply, issuer, found }
  }

  const hintOf = async (
    issuer: Issuer,
    hint: string | undefined,
  ): Promise<{ clientId: string; sid: string | undefined } | undefined> => {
    if (hint === undefined) return undefined
    const token = await verifier.idToken(issuer, hint)
    if (!token) throw invalidRequest('the id_token_hint is not an id token of this realm')
    return { clientId: token.aud, sid: token.sid }
  }

  const clientNamed = async (
    { view }: Issuer,
    clientId: string | undefined,
  ): Promise<TokenClient | undefined> => {
    const document = clientId === undefined ? undefined : await view.get(Client.kind, clientId)
    const client = document && clientOf(document)
    return client?.doc.enabled ? client : undefined
  }

  const read = async (issuer: Issuer, parameters: Parameters): Promise<Asked> => {
    const hint = await hintOf(issuer, parameters.get('id_token_hint'))
    const named = parameters.get('client_id')
    if (hint && named !== undefined && named !== hint.clientId)
      throw invalidRequest('the id_token_hint is of another client')
    const client = await clientNamed(issuer, hint?.clientId ?? named)
    const uri = parameters.get('post_logout_redirect_uri')
    const state = stateOf(parameters)
    if (uri !== undefined && !client)
      throw invalidRequest(
        named === undefined && !hint
          ? 'a post_logout_redirect_uri needs an id_token_hint or a client_id'
          : 'there is no such client',
      )
    if (uri !== undefined && !client?.doc.postLogoutRedirectUris.includes(uri))
      throw invalidRequest('the post_logout_redirect_uri is not one that the client registered')
    const target =
      uri === undefined || state === undefined
        ? uri
        : withQuery(uri, new URLSearchParams({ state }))
    return { parameters, sid: hint?.sid, client, target }
  }

  /** Revokes the session, and tells where the browser goes on to where service providers have to be told there. */
  const revoke = async (
    { request, issuer }: Visit,
    { client, target }: Asked,
    { session, user }: FoundSession,
    frames: readonly Frame[],
    upstream: readonly Statement[],
  ): Promise<string | undefined> => {
    const { name: realm } = issuer
    const application = client && displayNameOf(client.doc)
    const told = await beginSamlLogout(issuer, session.sid, { frames, target, application })
    try {
      await recorder.commit(
        [
          ...(told?.statements ?? []),
          ...upstream,
          ...sessions.revokeStatements(realm, session.sid),
        ],
        [
          {
            type: 'LOGOUT',
            realm,
            ...doerOf(user.id, session),
            sourceIp: request.ip,
            outcome: 'SUCCESS',
          },
        ],
      )
      jobs.wake(logoutQueue)
      return told?.path
    } catch (error) {
      // Signed out in another tab at the same moment: it is over, and was recorded there.
      if (!(error instanceof GuardFailedError)) throw error
      return undefined
    }
  }

  const goOn = (visit: Visit, asked: Asked, frames: readonly Frame[]) => {
    const { request, reply, issuer } = visit
    const { parameters, client, target } = asked
    browser.signOut(reply, issuer.name)
    if (target !== undefined && frames.length === 0) return reply.redirect(target, 303)
    if (target !== undefined)
      reply.header('refresh', `${frameSeconds};url=${URL.parse(target)?.href ?? ''}`)
    return pages.signedOut(reply, {
      ...pageContext(pages, request, issuer.name, issuer.settings, parameters.get('ui_locales')),
      application: client && displayNameOf(client.doc),
      target,
      frames: frames.map(({ url }) => url),
    })
  }

  const toProgress = ({ reply, issuer }: Visit, progress: string): FastifyReply => {
    browser.signOut(reply, issuer.name)
    return reply.redirect(progress, 303)
  }

  /** A session that came from an identity provider ends there too, before the browser goes where it was to go. */
  const byUpstream = async (
    { request, reply, issuer }: Visit,
    asked: Asked,
    { session }: FoundSession,
  ): Promise<{ readonly asked: Asked; readonly statements: readonly Statement[] }> => {
    const cookie = () => broker.tripCookie.make(request, reply, issuer.name)
    const leaving = await broker.leaveUpstream(issuer, session.sid, cookie, asked.target)
    return leaving
      ? { asked: { ...asked, target: leaving.url ?? asked.target }, statements: leaving.statements }
      : { asked, statements: [] }
  }

  const endSession = async (visit: Visit, asking: Asked, found: FoundSession): Promise<Ended> => {
    const frames = await framesOf(visit.issuer, found.session.sid)
    const { asked, statements } = await byUpstream(visit, asking, found)
    const progress = await revoke(visit, asked, found, frames, statements)
    return { asked, frames, progress }
  }

  const leave = async (visit: Visit, asking: Asked, found: FoundSession): Promise<FastifyReply> => {
    const { asked, frames, progress } = await endSession(visit, asking, found)
    return progress === undefined ? goOn(visit, asked, frames) : toProgress(visit, progress)
  }

  const ask = (visit: Visit, asked: Asked, { session, user }: FoundSession): FastifyReply => {
    const { request, reply, issuer } = visit
    const { parameters, client, target } = asked
    return pages.signOut(reply, {
      ...pageContext(pages, request, issuer.name, issuer.settings, parameters.get('ui_locales')),
      formTargets: target === undefined ? [] : formTargets(target),
      application: client && displayNameOf(client.doc),
      username: user.username,
      action: `/realms/${issuer.name}${path}`,
      csrf: browser.greet(reply, session),
      fields: logoutFields(parameters),
    })
  }

  const proceed = async (visit: Visit, parameters: Parameters): Promise<FastifyReply> => {
    const asked = await read(visit.issuer, parameters)
    const { found } = visit
    if (!found) return goOn(visit, asked, [])
    if (asked.sid !== undefined && asked.sid === found.session.sid)
      return leave(visit, asked, found)
    return ask(visit, asked, found)
  }

  const show = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) =>
    proceed(await visitOf(request, reply), queryOf(request))

  const showStored = async (request: FastifyRequest<HandleRoute>, reply: FastifyReply) => {
    const visit = await visitOf(request, reply)
    const parameters = await requests.find(visit.issuer.name, request.params.handle)
    if (!parameters) throw invalidRequest('the request has expired')
    return proceed(visit, parameters)
  }

  /** Only what is right is stored. */
  const store = async (request: FastifyRequest<RealmRoute>, form: Parameters): Promise<string> => {
    const issuer = await freshIssuer(issuers, request)
    // Services sign out like this at Keycloak: a page would look like success to them.
    if (form.get('refresh_token') !== undefined)
      throw invalidRequest(
        'a sign-out takes no refresh_token: revoke it at the revocation endpoint, or send the browser here with an id_token_hint',
      )
    await read(issuer, form)
    const retryAfter = await limiter.take(addressGroup(request.ip))
    if (retryAfter > 0)
      throw new Problem('rate-limited', `Try again in ${retryAfter} s.`, { extra: { retryAfter } })
    const { handle, statements } = requests.create(issuer.name, form)
    await storage.append(statements)
    return handle
  }

  /**
   * Our own form comes with its token and the session. Any other may be from another site, whose POST brings no cookies: it is
   * asked to come by GET, and takes no cookies away.
   */
  const submit = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const form = formOf(request)
    const isOurForm = [...form.names()].includes(csrfField)
    const { realm } = request.params
    const visit = isOurForm ? await visitOf(request, reply) : undefined
    const found = visit?.found
    if (!visit || !found)
      return reply.redirect(`/realms/${realm}${path}/${await store(request, form)}`, 303)
    const asking = await read(visit.issuer, form)
    if (!browser.isOfSession(found.session, form.get(csrfField) ?? ''))
      throw new Problem('csrf', 'The form is not from this session.')
    const { asked, frames, progress } = await endSession(visit, asking, found)
    const ofClient = asked.client !== undefined || asked.target !== undefined
    if (progress !== undefined) return toProgress(visit, progress)
    if (ofClient || frames.length > 0) return goOn(visit, asked, frames)
    browser.signOut(reply, realm)
    // No session is left: the page says so.
    return reply.redirect(`/realms/${realm}${path}`, 303)
  }

  return { show, showStored, submit }
}

export const logout = (parts: LogoutParts): Endpoint => ({
  path,
  member: 'end_session_endpoint',
  metadata: {
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    frontchannel_logout_supported: true,
    frontchannel_logout_session_supported: true,
  },
  routes: (app) => {
    const { pages, issuers, mapError } = parts
    const { show, showStored, submit } = createHandlers(parts)
    app.register(async (scope: FastifyInstance) => {
      installPageErrors(scope, {
        pages,
        mapError,
        tell,
        contextOf: errorContext(pages, issuers),
      })
      // A HEAD must not do what a GET asks for.
      const only = { exposeHeadRoute: false }
      scope.get<RealmRoute>(urlOf(path), { ...describeLogout, ...only }, show)
      scope.get<HandleRoute>(urlOf(`${path}/:handle`), { ...describeStored, ...only }, showStored)
      scope.post<RealmRoute>(urlOf(path), describeSignOut, submit)
    })
  },
})
