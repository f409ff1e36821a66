/**
 * From a valid authorize request to its response: determines the next interaction of the user, redirects the browser there,
 * and issues the code when none is left. The state is evaluated again at each return.
 */

import type { FastifyReply } from 'fastify'
import { Client, displayNameOf } from '#schemas/kinds/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { AuditEvent, Recorder } from '#server/audit/audit.ts'
import { doerOf } from '#server/sessions/doer.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import { pendingParameter } from '#server/sign-in/pages/pending.ts'
import { pageContext } from '#server/sign-in/pages/visit.ts'
import { ConstraintError, GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Consents } from '../consent/consents.ts'
import { scopeWords } from '../consent/scope-words.ts'
import { shownApplication } from '../consent/shown-application.ts'
import { accessDenied, OAuthError, oauthError } from '../errors.ts'
import type { OidcPages } from '../page-definitions.ts'
import type { Codes } from '../token/codes.ts'
import type { Answer, Visit } from './answer.ts'
import { askedScopes } from './asked-scopes.ts'
import type { Authorization, Authorizations } from './authorizations.ts'
import type { AuthorizeRequest } from './authorize-request.ts'
import { formTargets } from './form-targets.ts'
import { type createInteraction, loginRequired, type Need } from './interaction.ts'
import type { PushedRequests } from './pushed-requests.ts'

export interface FlowParts {
  readonly recorder: Recorder
  readonly sessions: Sessions
  readonly pages: OidcPages
  readonly browser: Browser
  readonly authorizations: Authorizations
  readonly consents: Consents
  readonly codes: Codes
  readonly pushedRequests: PushedRequests
  readonly interaction: ReturnType<typeof createInteraction>
  readonly answer: Answer
}

/** A request on its way. */
export interface Journey {
  readonly client: TokenClient
  readonly request: AuthorizeRequest
  /** Where it has been stored before. */
  readonly waiting?: Authorization | undefined
}

export const expired = (): Problem =>
  new Problem('csrf', 'Nothing in this browser waits under this address.')

const silent = {
  'sign-in': loginRequired('the user must sign in'),
  account: oauthError('account_selection_required')('the user must choose an account'),
  consent: oauthError('consent_required')('the user must consent'),
} as const
const nothing = { statements: [], events: [] } as const
const usedBefore = oauthError('invalid_request_uri')('the request_uri was used')

export const createFlow = (parts: FlowParts) => {
  const { recorder, sessions, pages, browser, authorizations, consents, codes } = parts
  const { pushedRequests, interaction, answer } = parts

  const sessionOf = async ({ request, issuer }: Visit): Promise<FoundSession | undefined> => {
    const cookie = browser.sessionCookie(request, issuer.name)
    return cookie === undefined ? undefined : sessions.find(issuer.name, cookie, issuer.settings)
  }

  const handleOf = async (
    { request: http, reply, issuer }: Visit,
    { client, request, waiting }: Journey,
    priorSession: string | undefined,
  ): Promise<string> => {
    if (waiting) return waiting.handle
    const { handle, statements } = authorizations.create(issuer.name, client.id, {
      clientId: client.clientId,
      request,
      browser: authorizations.browserOf(http, reply, issuer.name),
      ...(priorSession === undefined ? {} : { priorSession }),
    })
    await recorder.append(statements, [])
    return handle
  }

  const toSignIn = ({ reply, issuer }: Visit, handle: string): FastifyReply =>
    reply.redirect(`/realms/${issuer.name}/login?${pendingParameter}=${handle}`, 303)

  const pageOf = (
    { request: http, reply, issuer }: Visit,
    { client, request }: Journey,
    { session, user }: FoundSession,
    handle: string,
  ) => ({
    ...pageContext(pages, http, issuer.name, issuer.settings, request.locales),
    formTargets: formTargets(request.redirectUri),
    application: displayNameOf(client.doc),
    username: user.username,
    action: `/realms/${issuer.name}/authorize/${handle}`,
    csrf: browser.greet(reply, session),
  })

  const consentEvent = (
    { request: http, issuer }: Visit,
    { client }: Journey,
    { user, session }: FoundSession,
    outcome: AuditEvent['outcome'],
    detail: string,
  ): AuditEvent => ({
    type: 'GRANT_CONSENT',
    realm: issuer.name,
    ...doerOf(user.id, session),
    sourceIp: http.ip,
    outcome,
    resourceType: Client.resourceType,
    resourceId: client.id,
    detail,
  })

  const refuse = async (
    visit: Visit,
    { client, request, waiting }: Journey,
    error: OAuthError,
    events: readonly AuditEvent[] = [],
  ): Promise<FastifyReply> => {
    if (waiting) await recorder.append(authorizations.end(waiting.handle), events)
    return answer(visit, client, request, error)
  }

  const consented = async (
    visit: Visit,
    journey: Journey,
    found: FoundSession,
  ): Promise<{ statements: readonly Statement[]; events: readonly AuditEvent[] }> => {
    const { client, request } = journey
    const asked = await askedScopes(visit.issuer, client, request)
    return {
      statements: await consents.grant(visit.issuer.name, found.user.id, client.id, asked),
      events: [consentEvent(visit, journey, found, 'SUCCESS', asked.join(' '))],
    }
  }

  const complete = async (
    visit: Visit,
    journey: Journey,
    { found: { session, user }, organization }: Extract<Need, { kind: 'nothing' }>,
    consenting: boolean,
  ): Promise<FastifyReply> => {
    const { issuer } = visit
    const { client, request, waiting } = journey
    const { code, statements } = codes.issue(issuer, client, session, request, organization)
    const consent = consenting ? await consented(visit, journey, { session, user }) : nothing
    const ended = waiting ? authorizations.end(waiting.handle) : []
    const used = request.pushed === undefined ? [] : pushedRequests.use(issuer.name, request.pushed)
    try {
      await recorder.append(
        [...ended, ...used, ...consent.statements, ...statements],
        consent.events,
      )
    } catch (error) {
      if (error instanceof GuardFailedError) throw expired()
      if (error instanceof ConstraintError && error.table === 'replay_guards')
        return answer(visit, client, request, usedBefore)
      throw error
    }
    await sessions.touch(session, issuer.settings)
    return answer(visit, client, request, { code })
  }

  const show = async (
    visit: Visit,
    journey: Journey,
    need: Exclude<Need, { kind: 'nothing' }>,
    handle: string,
  ): Promise<FastifyReply> => {
    const { reply } = visit
    if (need.kind === 'sign-in') return toSignIn(visit, handle)
    const page = pageOf(visit, journey, need.found, handle)
    if (need.kind === 'account') {
      const { first_name, last_name } = need.found.user
      const name = [first_name, last_name].filter(Boolean).join(' ') || undefined
      return pages.account(reply, { ...page, name })
    }
    const asked = await askedScopes(visit.issuer, journey.client, journey.request)
    const words = await scopeWords(visit.issuer, journey.client, asked)
    const shown = shownApplication(journey.client, journey.request.redirectUri)
    return pages.consent(reply, { ...page, ...words, ...shown })
  }

  /** `consenting` where the user has just allowed it. */
  const proceed = async (
    visit: Visit,
    journey: Journey,
    consenting = false,
  ): Promise<FastifyReply> => {
    const { client, request, waiting } = journey
    const found = await sessionOf(visit)
    const priorSession = waiting ? waiting.priorSession : found?.session.id
    const progress = { found, priorSession, chosen: waiting?.chosen, consents: consenting }
    try {
      const need = await interaction(visit.issuer, client, request, progress)
      if (need.kind === 'nothing') return await complete(visit, journey, need, consenting)
      if (request.prompt.includes('none')) throw silent[need.kind]
      return await show(visit, journey, need, await handleOf(visit, journey, priorSession))
    } catch (error) {
      if (error instanceof OAuthError) return refuse(visit, journey, error)
      throw error
    }
  }

  /** What the user said on the page for consent or accounts. */
  const decide = async (
    visit: Visit,
    journey: Journey & { readonly waiting: Authorization },
    { decision, csrf }: { readonly decision: string | undefined; readonly csrf: string },
  ): Promise<FastifyReply> => {
    const { waiting } = journey
    const found = await sessionOf(visit)
    if (!found) return toSignIn(visit, waiting.handle)
    if (!browser.isOfSession(found.session, csrf)) throw expired()
    switch (decision) {
      case 'allow':
        return proceed(visit, journey, true)
      case 'deny':
        return refuse(visit, journey, accessDenied('the user did not allow it'), [
          consentEvent(visit, journey, found, 'FAILURE', 'access_denied'),
        ])
      case 'continue': {
        const chosen = { ...waiting, chosen: found.session.id }
        await recorder.append(authorizations.change(waiting.handle, chosen), [])
        return proceed(visit, { ...journey, waiting: chosen })
      }
      case 'other':
        return toSignIn(visit, waiting.handle)
      default:
        throw new Problem('bad-request', 'There is no such decision.')
    }
  }

  return { proceed, decide }
}
