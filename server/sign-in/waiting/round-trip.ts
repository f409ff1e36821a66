/**
 * The way of a browser from a protocol through the sign-in and back: the request is stored and bound to the browser, the
 * sign-in page gets its handle, and the browser returns below the path of the protocol. The protocol decides what the user
 * still has to do, at each return, and answers the client.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { FormPage } from '#server/http/pages/context.ts'
import { type FoundSession, type Sessions, signInOf } from '#server/sessions/sessions.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Browser } from '../pages/browser.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { pendingParameter } from '../pages/pending.ts'
import { pageContext } from '../pages/visit.ts'
import type { ProtocolName, Waiting, WaitingRequest, WaitingRequests } from './waiting-requests.ts'

/** A browser at an endpoint of a protocol. */
export interface ProtocolVisit {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly issuer: Issuer
}

/** A valid request, from its arrival to its answer. */
export interface Journey<Client, Request> {
  readonly client: Client
  readonly request: Request
  /** The stored request, once it is bound to this browser. */
  readonly waiting?: WaitingRequest<Request> | undefined
}

export interface WaitingJourney<Client, Request> extends Journey<Client, Request> {
  readonly waiting: WaitingRequest<Request>
}

/** What is known about the user of a request when the browser arrives. */
export interface Progress {
  /** The current session. */
  readonly found: FoundSession | undefined
  /** The sign-in of the session that was there when the request began. */
  readonly priorSignIn: string | undefined
  /** Whether the user has signed in since: a session alone that goes on with the one from before does not tell so. */
  readonly signedInSince: boolean
  /** The session that the user chose to go on with. */
  readonly chosen: string | undefined
}

/** The form of a page on which the user decides. */
export interface Decision {
  readonly decision: string | undefined
  readonly csrf: string
}

/** The part of a round trip that differs from protocol to protocol. */
export interface Protocol<Client, Request> {
  readonly name: ProtocolName
  /** Below the realm. The browser returns to `{path}/{handle}`. */
  readonly path: string
  /** The name of the client in the protocol. */
  nameOf(client: Client): string
  /** The client of a stored request; throws unless the client may still make that request. */
  clientOf(issuer: Issuer, stored: Waiting<Request>): Promise<Client>
  /** What pages show of the client, the targets of their forms, and the languages that the request prefers. */
  shown(
    client: Client,
    request: Request,
  ): {
    readonly application: string
    readonly formTargets: readonly string[]
    readonly locales?: string | undefined
  }
}

export interface RoundTripParts<Request> {
  readonly recorder: Recorder
  readonly sessions: Pick<Sessions, 'find'>
  readonly browser: Browser
  readonly pages: SignInPages
  readonly waitingRequests: WaitingRequests<Request>
}

export const expired = (): Problem =>
  new Problem('csrf', 'Nothing in this browser waits under this address.')

export const createRoundTrip = <Client extends { readonly id: string }, Request>(
  { recorder, sessions, browser, pages, waitingRequests }: RoundTripParts<Request>,
  { path, nameOf, clientOf, shown }: Protocol<Client, Request>,
) => {
  type OnItsWay = Journey<Client, Request>
  type Bound = WaitingJourney<Client, Request>

  const addressOf = (realm: string, handle: string): string => `/realms/${realm}${path}/${handle}`

  const toSignIn = ({ reply, issuer }: ProtocolVisit, handle: string): FastifyReply =>
    reply.redirect(`/realms/${issuer.name}/login?${pendingParameter}=${handle}`, 303)

  const sessionOf = async ({
    request,
    issuer,
  }: ProtocolVisit): Promise<FoundSession | undefined> => {
    const cookie = browser.sessionCookie(request, issuer.name)
    return cookie === undefined ? undefined : sessions.find(issuer.name, cookie, issuer.settings)
  }

  const create = async (
    { issuer }: ProtocolVisit,
    { client, request }: OnItsWay,
    binding: Pick<Waiting<Request>, 'browser' | 'priorSignIn'>,
  ): Promise<string> => {
    const { handle, statements } = waitingRequests.create(issuer.name, client.id, {
      clientId: nameOf(client),
      request,
      ...binding,
    })
    await recorder.append(statements, [])
    return handle
  }

  /** A stored request may outlive the registration of its client, or of the address it named. */
  const journeyOf = async (
    { request: http, issuer }: ProtocolVisit,
    handle: string,
  ): Promise<OnItsWay> => {
    const found = await waitingRequests.find(issuer.name, handle)
    if (!found) throw expired()
    const client = await clientOf(issuer, found)
    if (found.browser === undefined) return { client, request: found.request }
    if (!waitingRequests.isOf(http, issuer.name, found)) throw expired()
    return { client, request: found.request, waiting: found }
  }

  const pageOf = (
    { request: http, reply, issuer }: ProtocolVisit,
    { client, request }: OnItsWay,
    { session, user }: FoundSession,
    handle: string,
  ): FormPage & { readonly application: string; readonly username: string } => {
    const { application, formTargets, locales } = shown(client, request)
    return {
      ...pageContext(pages, http, issuer.name, issuer.settings, locales),
      formTargets,
      application,
      username: user.username,
      action: addressOf(issuer.name, handle),
      csrf: browser.greet(reply, session),
    }
  }

  return {
    addressOf,
    toSignIn,

    /** The request, where it is bound to this browser: for the sign-in page. */
    findOf: waitingRequests.findOf,

    progressOf: async (visit: ProtocolVisit, { waiting }: OnItsWay): Promise<Progress> => {
      const found = await sessionOf(visit)
      const signIn = found && signInOf(found.session)
      const priorSignIn = waiting ? waiting.priorSignIn : signIn
      const signedInSince = signIn !== undefined && signIn !== priorSignIn
      return { found, priorSignIn, signedInSince, chosen: waiting?.chosen }
    },

    /** Cookies do not travel with a POST from another site: it is stored, and the browser comes back with them. */
    store: async (visit: ProtocolVisit, journey: OnItsWay): Promise<FastifyReply> =>
      visit.reply.redirect(addressOf(visit.issuer.name, await create(visit, journey, {})), 303),

    /** The handle of the request, which is stored and bound to this browser unless it is already. */
    handleOf: async (
      visit: ProtocolVisit,
      journey: OnItsWay,
      priorSignIn: string | undefined,
    ): Promise<string> =>
      journey.waiting?.handle ??
      create(visit, journey, {
        browser: waitingRequests.browserOf(visit.request, visit.reply, visit.issuer.name),
        ...(priorSignIn === undefined ? {} : { priorSignIn }),
      }),

    /** The request that the browser returns to. One that is not bound to a browser is taken: it can be resumed once. */
    resume: async (visit: ProtocolVisit, handle: string): Promise<OnItsWay> => {
      const journey = await journeyOf(visit, handle)
      if (!journey.waiting) await recorder.append(waitingRequests.end(handle), [])
      return journey
    },

    /** The request that a form is about; it is bound to this browser. */
    bound: async (visit: ProtocolVisit, handle: string): Promise<Bound> => {
      const { client, request, waiting } = await journeyOf(visit, handle)
      if (!waiting) throw expired()
      return { client, request, waiting }
    },

    /** Ends the stored request; the guard fails when it was finished at the same moment. */
    endOf: ({ waiting }: OnItsWay): Statement[] =>
      waiting ? waitingRequests.end(waiting.handle) : [],

    /** The data of a page on which a signed-in user decides about the request. */
    pageOf,

    /** Asks with which account to go on. */
    askAccount: (
      visit: ProtocolVisit,
      journey: OnItsWay,
      found: FoundSession,
      handle: string,
    ): FastifyReply => {
      const { first_name, last_name } = found.user
      return pages.account(visit.reply, {
        ...pageOf(visit, journey, found, handle),
        name: [first_name, last_name].filter(Boolean).join(' ') || undefined,
      })
    },

    /** Acts on the decision of the user: that about the account, or one of those that the protocol has beside it. */
    decide: async (
      visit: ProtocolVisit,
      journey: Bound,
      { decision, csrf }: Decision,
      then: {
        readonly proceed: (journey: Bound) => Promise<FastifyReply>
        readonly others?: Readonly<Record<string, (found: FoundSession) => Promise<FastifyReply>>>
      },
    ): Promise<FastifyReply> => {
      const { waiting } = journey
      const found = await sessionOf(visit)
      if (!found) return toSignIn(visit, waiting.handle)
      if (!browser.isOfSession(found.session, csrf)) throw expired()
      if (decision === 'other') return toSignIn(visit, waiting.handle)
      if (decision === 'continue') {
        const chosen = { ...waiting, chosen: found.session.id }
        await recorder.append(waitingRequests.change(chosen), [])
        return then.proceed({ ...journey, waiting: chosen })
      }
      const others = new Map(Object.entries(then.others ?? {}))
      const act = others.get(decision ?? '')
      if (!act) throw new Problem('bad-request', 'There is no such decision.')
      return act(found)
    },
  }
}

export type RoundTrip<Client extends { readonly id: string }, Request> = ReturnType<
  typeof createRoundTrip<Client, Request>
>
