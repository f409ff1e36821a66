/**
 * From a request that is right to its answer: finds out what the user still has to do, sends the browser there, and makes
 * the assertion once there is nothing left. Whatever happened before is looked at anew each time.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { SamlClient } from '#schemas/kinds/saml-client.ts'
import { Problem } from '#schemas/problems.ts'
import type { AuditEvent, Recorder } from '#server/audit/audit.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import { sha256 } from '#server/platform/random.ts'
import { doerOf } from '#server/sessions/doer.ts'
import type { SamlSessions } from '#server/sessions/saml-sessions.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import { pendingParameter } from '#server/sign-in/pages/pending.ts'
import { pageContext } from '#server/sign-in/pages/visit.ts'
import { ConstraintError, GuardFailedError } from '#server/storage/contract.ts'
import type { GrantsStore } from '#server/tokens/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { ssoPath } from '../addresses.ts'
import { assertionOf } from '../assertion/assertion.ts'
import type { AttributesOf } from '../assertion/attributes.ts'
import type { NameIds } from '../assertion/name-id.ts'
import type { Answered, Respond } from '../assertion/response.ts'
import { formTargets, sendPost } from '../bindings/send-post.ts'
import { SamlStatusError } from '../errors.ts'
import type { SamlPages } from '../page-definitions.ts'
import { optionsOf, type ServiceProvider } from '../service-provider.ts'
import type { createInteraction, Need } from './interaction.ts'
import type { SsoRequest } from './sso-request.ts'
import { type WaitingRequest, type WaitingRequests, waitingMs } from './waiting-requests.ts'

export interface Visit {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly issuer: Issuer
}

/** A request on its way. */
export interface Journey {
  readonly provider: ServiceProvider
  readonly request: SsoRequest
  /** Where it has been stored before. */
  readonly waiting?: WaitingRequest | undefined
}

export interface FlowParts {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'tokenIssued'>
  readonly sessions: Pick<Sessions, 'find' | 'touch'>
  readonly samlSessions: SamlSessions
  readonly grantsStore: Pick<GrantsStore, 'once'>
  readonly pages: SamlPages
  readonly browser: Browser
  readonly waitingRequests: WaitingRequests
  readonly nameIds: NameIds
  readonly attributesOf: AttributesOf
  readonly respond: Respond
  readonly interaction: ReturnType<typeof createInteraction>
}

export const expired = (): Problem =>
  new Problem('csrf', 'Nothing in this browser waits under this address.')

/** One request is answered with one assertion. */
const replayPurpose = (provider: ServiceProvider): string => `saml-request ${provider.id}`

const usedBefore = new SamlStatusError('RequestDenied', 'the request was answered before')

/** The same for the session at one service provider, and telling nothing to others. */
const sessionIndexOf = (sid: string, { id }: ServiceProvider): string =>
  `_${sha256(`saml-session ${sid} ${id}`)}`

export const createSsoFlow = (parts: FlowParts) => {
  const { clock, recorder, metrics, sessions, samlSessions, grantsStore, pages, browser } = parts
  const { waitingRequests, nameIds, attributesOf, respond, interaction } = parts

  const sessionOf = async ({ request, issuer }: Visit): Promise<FoundSession | undefined> => {
    const cookie = browser.sessionCookie(request, issuer.name)
    return cookie === undefined ? undefined : sessions.find(issuer.name, cookie, issuer.settings)
  }

  const eventOf = (
    { request, issuer }: Visit,
    provider: Pick<ServiceProvider, 'id'>,
    found: FoundSession | undefined,
    outcome: AuditEvent['outcome'],
    detail: string,
  ): AuditEvent => ({
    type: 'SAML_SSO',
    realm: issuer.name,
    ...(found ? doerOf(found.user.id, found.session) : { actor: provider.id }),
    sourceIp: request.ip,
    outcome,
    resourceType: SamlClient.resourceType,
    resourceId: provider.id,
    detail,
  })

  /** Tells the service provider how it ended, at a place that is its own. */
  const tell = async (
    visit: Visit,
    provider: ServiceProvider,
    answered: Answered & Pick<SsoRequest, 'relayState'>,
    error: SamlStatusError,
    found?: FoundSession,
  ): Promise<FastifyReply> => {
    const detail = `${error.code}: ${error.message}`
    visit.request.log.info({ detail }, 'single sign-on refused')
    await recorder.append([], [eventOf(visit, provider, found, 'FAILURE', detail)])
    const xml = await respond(visit.issuer, provider, answered, error)
    const { acs, relayState } = answered
    return sendPost(pages, visit, provider, { url: acs.url, xml, relayState })
  }

  const refuse = async (
    visit: Visit,
    { provider, request, waiting }: Journey,
    error: SamlStatusError,
    found?: FoundSession,
  ): Promise<FastifyReply> => {
    if (waiting) await recorder.append(waitingRequests.end(waiting.handle), [])
    return tell(visit, provider, request, error, found)
  }

  const complete = async (
    visit: Visit,
    journey: Journey,
    { found, contextClass }: Extract<Need, { kind: 'nothing' }>,
  ): Promise<FastifyReply> => {
    const { issuer } = visit
    const { provider, request, waiting } = journey
    const { session, user } = found
    const options = optionsOf(issuer, provider)
    const nameId = await nameIds.nameIdFor(issuer, provider, user, request.nameId)
    const sessionIndex = sessionIndexOf(session.sid, provider)
    const now = clock.now()
    const assertion = assertionOf({
      issuer,
      provider,
      options,
      request,
      session,
      sessionIndex,
      nameId,
      contextClass,
      attributes: options.includeAttributes ? await attributesOf(issuer, provider, user) : [],
      now,
    })
    const xml = await respond(issuer, provider, request, assertion)
    try {
      await recorder.append(
        [
          ...(waiting ? waitingRequests.end(waiting.handle) : []),
          ...(request.id === undefined
            ? []
            : grantsStore.once(
                issuer.name,
                replayPurpose(provider),
                request.id,
                now + 2 * waitingMs,
              )),
          ...nameId.statements,
          ...samlSessions.visit({ session, providerId: provider.id, nameId, sessionIndex }),
        ],
        [eventOf(visit, provider, found, 'SUCCESS', contextClass)],
      )
    } catch (error) {
      if (error instanceof GuardFailedError) throw expired()
      if (error instanceof ConstraintError && error.table === 'replay_guards')
        return tell(visit, provider, request, usedBefore, found)
      throw error
    }
    metrics.tokenIssued(issuer.name)
    await sessions.touch(session, issuer.settings)
    const { acs, relayState } = request
    return sendPost(pages, visit, provider, { url: acs.url, xml, relayState })
  }

  const handleOf = async (
    { request: http, reply, issuer }: Visit,
    { provider, request, waiting }: Journey,
    priorSession: string | undefined,
  ): Promise<string> => {
    if (waiting) return waiting.handle
    const { handle, statements } = waitingRequests.create(issuer.name, provider.id, {
      entityId: provider.entityId,
      request,
      browser: waitingRequests.browserOf(http, reply, issuer.name),
      ...(priorSession === undefined ? {} : { priorSession }),
    })
    await recorder.append(statements, [])
    return handle
  }

  const toSignIn = ({ reply, issuer }: Visit, handle: string): FastifyReply =>
    reply.redirect(`/realms/${issuer.name}/login?${pendingParameter}=${handle}`, 303)

  const askAccount = (
    { request: http, reply, issuer }: Visit,
    { provider, request }: Journey,
    { session, user }: FoundSession,
    handle: string,
  ): FastifyReply =>
    pages.account(reply, {
      ...pageContext(pages, http, issuer.name, issuer.settings),
      formTargets: formTargets(request.acs.url),
      application: provider.displayName,
      username: user.username,
      name: [user.first_name, user.last_name].filter(Boolean).join(' ') || undefined,
      action: `/realms/${issuer.name}${ssoPath}/${handle}`,
      csrf: browser.greet(reply, session),
    })

  const proceed = async (visit: Visit, journey: Journey): Promise<FastifyReply> => {
    const { provider, request, waiting } = journey
    const found = await sessionOf(visit)
    const priorSession = waiting ? waiting.priorSession : found?.session.id
    try {
      const need = await interaction(visit.issuer, provider, request, {
        found,
        priorSession,
        chosen: waiting?.chosen,
      })
      if (need.kind === 'nothing') return await complete(visit, journey, need)
      if (request.isPassive)
        throw new SamlStatusError('NoPassive', 'the user must be asked, which IsPassive forbids')
      const handle = await handleOf(visit, journey, priorSession)
      return need.kind === 'sign-in'
        ? toSignIn(visit, handle)
        : askAccount(visit, journey, need.found, handle)
    } catch (error) {
      if (error instanceof SamlStatusError) return refuse(visit, journey, error, found)
      throw error
    }
  }

  /** What the user said on the page for accounts. */
  const decide = async (
    visit: Visit,
    journey: Journey & { readonly waiting: WaitingRequest },
    { decision, csrf }: { readonly decision: string | undefined; readonly csrf: string },
  ): Promise<FastifyReply> => {
    const { waiting } = journey
    const found = await sessionOf(visit)
    if (!found) return toSignIn(visit, waiting.handle)
    if (!browser.isOfSession(found.session, csrf)) throw expired()
    if (decision === 'other') return toSignIn(visit, waiting.handle)
    if (decision !== 'continue') throw new Problem('bad-request', 'There is no such decision.')
    const chosen = { ...waiting, chosen: found.session.id }
    await recorder.append(waitingRequests.change(chosen), [])
    return proceed(visit, { ...journey, waiting: chosen })
  }

  return { proceed, decide, tell, eventOf }
}

export type SsoFlow = ReturnType<typeof createSsoFlow>
