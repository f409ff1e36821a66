/**
 * Single logout in the browser (SAML Profiles §4.4): from the end of the session to the page that lists the applications and
 * tells them side by side in frames, and on to the LogoutResponse or to where the user wanted to go. An answer goes to the
 * single logout service that is registered, and nowhere else.
 */

import type { FastifyReply } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { BeginSamlLogout } from '#server/sessions/front-channel.ts'
import type { SamlSessions } from '#server/sessions/saml-sessions.ts'
import { pageContext } from '#server/sign-in/pages/visit.ts'
import type { ProtocolVisit } from '#server/sign-in/waiting/round-trip.ts'
import { GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { newMessageId } from '#server/xml/index.ts'
import { sloPath } from '../addresses.ts'
import { sendPost } from '../bindings/send-post.ts'
import { SamlRefused, SamlStatusError } from '../errors.ts'
import type { SamlPages } from '../page-definitions.ts'
import { findServiceProvider, type ServiceProvider } from '../service-provider.ts'
import type { Carried, LogoutMessages } from './logout-messages.ts'
import type { Asking, Logout, Logouts, StoredLogout } from './logouts.ts'
import type { Participant, Progress, ProgressOf } from './participants.ts'

export interface LogoutFlowParts {
  readonly clock: Clock
  readonly recorder: Pick<Recorder, 'append'>
  readonly samlSessions: SamlSessions
  readonly logouts: Logouts
  readonly messages: LogoutMessages
  readonly progressOf: ProgressOf
  readonly pages: SamlPages
}

/** What is left to do once the session has ended. */
export interface Rest {
  readonly path: string
  readonly statements: readonly Statement[]
}

export const partial = (): SamlStatusError =>
  new SamlStatusError('PartialLogout', 'not every application has confirmed the logout')

export const createLogoutFlow = (parts: LogoutFlowParts) => {
  const { clock, recorder, samlSessions, logouts, messages, progressOf, pages } = parts

  const pathOf = ({ name }: Issuer, handle: string): string => `/realms/${name}${sloPath}/${handle}`

  const contextOf = ({ request, issuer }: ProtocolVisit) =>
    pageContext(pages, request, issuer.name, issuer.settings)

  const send = (
    visit: ProtocolVisit,
    provider: ServiceProvider,
    carried: Carried,
    form: { parameter: 'SAMLRequest' | 'SAMLResponse'; relayState?: string | undefined },
  ): FastifyReply =>
    carried.binding === 'HTTP-Redirect'
      ? visit.reply.redirect(carried.url, 303)
      : sendPost(pages, visit, provider, { ...form, url: carried.url, xml: carried.xml })

  const signedOut = (visit: ProtocolVisit, provider?: ServiceProvider): FastifyReply =>
    pages.signedOutThere(visit.reply, {
      ...contextOf(visit),
      application: provider?.displayName,
      target: undefined,
      frames: [],
    })

  /** The LogoutResponse; a page where the service provider wants none, or has no address for it. */
  const answer = async (
    visit: ProtocolVisit,
    provider: ServiceProvider,
    asking: Omit<Asking, 'entityId'> | undefined,
    outcome: SamlStatusError | undefined,
  ): Promise<FastifyReply> => {
    const { issuer } = visit
    const { singleLogoutServiceUrl, singleLogoutServiceResponseUrl } = provider.doc
    const url = singleLogoutServiceResponseUrl ?? singleLogoutServiceUrl
    if (asking === undefined || url === undefined) {
      // Recorded already: without the service provider, it is not recorded again.
      if (outcome && outcome.code !== 'PartialLogout') throw new SamlRefused(outcome.message)
      return signedOut(visit, provider)
    }
    const { id, relayState } = asking
    const message = messages.response(issuer, { id, destination: url }, outcome)
    const parameter = 'SAMLResponse'
    const carried = await messages.carry(issuer, provider, { url, message, parameter, relayState })
    return send(visit, provider, carried, { parameter, relayState })
  }

  /** The service providers of these sessions but one. */
  const othersOf = async (issuer: Issuer, sids: readonly string[], except?: ServiceProvider) => {
    const participants = (await samlSessions.ofSessions(sids))
      .filter(({ client_id }) => client_id !== except?.id)
      .map(({ sid, client_id: providerId }) => ({ sid, providerId }))
    const progress = await progressOf(
      issuer,
      { participants, frames: [], begunAt: null },
      clock.now(),
    )
    return { participants, all: progress.participants }
  }

  /** The service providers that are to be notified in the browser after the end of these sessions. */
  const begin = async (
    issuer: Issuer,
    sids: readonly string[],
    { by, ...after }: Omit<Logout, 'participants'>,
    except?: ServiceProvider,
  ): Promise<{ readonly rest: Rest | undefined; readonly isPartial: boolean }> => {
    const { participants, all } = await othersOf(issuer, sids, except)
    const has = (channel: Participant['channel']) => all.some((one) => one.channel === channel)
    const isPartial = has('none')
    // Jobs tell the back channel; where a service provider asked, it or its user has to hear how it went.
    if (!has('front') && !(except && (has('back') || after.frames.length > 0)))
      return { rest: undefined, isPartial }
    const { handle, statements } = logouts.create(issuer.name, {
      ...after,
      participants,
      ...(by ? { by } : {}),
    })
    return { rest: { path: pathOf(issuer, handle), statements }, isPartial }
  }

  const find = async ({ issuer }: ProtocolVisit, handle: string): Promise<StoredLogout> => {
    const logout = await logouts.find(issuer.name, handle)
    if (!logout) throw new SamlRefused('the logout is over; you are signed out')
    return logout
  }

  /** Of the frames, at most one visit makes them: a LogoutRequest is sent once. */
  const tellAll = async (
    { handle, begunAt }: StoredLogout,
    { participants }: Progress,
  ): Promise<boolean> => {
    if (begunAt !== null) return false
    const front = participants.filter(
      ({ channel, state }) => channel === 'front' && state === 'waiting',
    )
    try {
      await recorder.append(
        [logouts.begin(handle), ...front.map((one) => samlSessions.asked(one, newMessageId()))],
        [],
      )
      return true
    } catch (error) {
      if (error instanceof GuardFailedError) return false
      throw error
    }
  }

  const list = (
    visit: ProtocolVisit,
    logout: StoredLogout,
    { participants, isPending, isPartial }: Progress,
    isFirst: boolean,
  ): FastifyReply => {
    const { issuer, reply } = visit
    const path = pathOf(issuer, logout.handle)
    const frameOf = ({ index }: Participant): string => `${path}/frames/${index}`
    const told = participants.filter(({ channel, state }) =>
      isFirst ? channel === 'front' && state === 'waiting' : false,
    )
    return pages.logout(reply, {
      ...contextOf(visit),
      action: path,
      statusUrl: `${path}/status`,
      isPending,
      isPartial,
      entries: [
        ...participants.map((one) => ({
          application: one.provider.displayName,
          state: one.state,
          // A form in a frame cannot be sent without a script: a link does it.
          byHand:
            told.includes(one) && one.provider.doc.singleLogoutServiceBinding === 'HTTP-POST'
              ? frameOf(one)
              : undefined,
        })),
        ...logout.frames.map(({ application }) => ({ application, state: 'asked' as const })),
      ],
      frames: [...told.map(frameOf), ...(isFirst ? logout.frames.map(({ url }) => url) : [])],
      // Each service provider sends its frame back here.
      framed:
        told.length === 0
          ? []
          : [issuer.url, ...told.map(({ provider }) => provider.doc.singleLogoutServiceUrl ?? '')],
      target: logout.by ? `${path}?continue=true` : logout.target,
      application: logout.application,
    })
  }

  const goOn = async (
    visit: ProtocolVisit,
    { by, target }: StoredLogout,
    isPartial: boolean,
  ): Promise<FastifyReply | undefined> => {
    const provider = by && (await findServiceProvider(visit.issuer, by.entityId))
    if (by && provider) return answer(visit, provider, by, isPartial ? partial() : undefined)
    return target === undefined ? undefined : visit.reply.redirect(target, 303)
  }

  const show = async (visit: ProtocolVisit, handle: string): Promise<FastifyReply> => {
    const logout = await find(visit, handle)
    const progress = await progressOf(visit.issuer, logout, clock.now())
    const isFirst = await tellAll(logout, progress)
    if (isFirst || progress.isPending) return list(visit, logout, progress, isFirst)
    const { continue: wanted } = visit.request.query as { continue?: unknown }
    const next =
      progress.isPartial && wanted !== 'true'
        ? undefined
        : await goOn(visit, logout, progress.isPartial)
    return next ?? list(visit, logout, progress, false)
  }

  return {
    answer,
    begin,
    /** Whether the sessions led to other service providers, which cannot have confirmed anything yet. */
    hasOthers: async (issuer: Issuer, sids: readonly string[], except: ServiceProvider) =>
      (await othersOf(issuer, sids, except)).all.length > 0,
    show,
    signedOut,

    /** For sign-out that another protocol asked for. */
    beginOther: (async (issuer, sid, after) =>
      (await begin(issuer, [sid], after)).rest) satisfies BeginSamlLogout,

    status: async (visit: ProtocolVisit, handle: string): Promise<'PENDING' | 'DONE'> => {
      const logout = await find(visit, handle)
      const { isPending } = await progressOf(visit.issuer, logout, clock.now())
      return isPending ? 'PENDING' : 'DONE'
    },

    /** A frame of the page: takes a LogoutRequest to its service provider. */
    frame: async (visit: ProtocolVisit, handle: string, index: number): Promise<FastifyReply> => {
      const { issuer } = visit
      const { participants } = await progressOf(issuer, await find(visit, handle), clock.now())
      const one = participants.find((each) => each.index === index)
      const url = one?.provider.doc.singleLogoutServiceUrl
      const row = one && (await samlSessions.at(one))
      if (!row || url === undefined || one.requestId === null) return signedOut(visit)
      const { provider, requestId: id } = one
      const message = messages.request(issuer, provider, row, { id, destination: url })
      const parameter = 'SAMLRequest'
      const carried = await messages.carry(issuer, provider, { url, message, parameter })
      return send(visit, provider, carried, { parameter })
    },
  }
}

export type LogoutFlow = ReturnType<typeof createLogoutFlow>
