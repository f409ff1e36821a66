/**
 * From a valid authorize request to its response: determines the next interaction of the user, redirects the browser there,
 * and issues the code when none is left. The state is evaluated again at each return.
 */

import type { FastifyReply } from 'fastify'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { doerOf } from '#server/sessions/doer.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import { type Decision, expired, type ProtocolVisit } from '#server/sign-in/waiting/round-trip.ts'
import { ConstraintError, GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import type { Consents } from '../consent/consents.ts'
import { scopeWords } from '../consent/scope-words.ts'
import { shownAgent, shownApplication } from '../consent/shown-application.ts'
import type { Delegations } from '../delegation/delegations.ts'
import { accessDenied, OAuthError, oauthError } from '../errors.ts'
import type { OidcPages } from '../page-definitions.ts'
import type { Codes } from '../token/codes.ts'
import type { Answer } from './answer.ts'
import { askedScopes } from './asked-scopes.ts'
import type { AuthorizeJourney, AuthorizeTrip, WaitingAuthorize } from './authorize-protocol.ts'
import { type createInteraction, loginRequired, type Need } from './interaction.ts'
import type { PushedRequests } from './pushed-requests.ts'

export interface FlowParts {
  readonly recorder: Recorder
  readonly sessions: Pick<Sessions, 'touch'>
  readonly pages: OidcPages
  readonly trip: AuthorizeTrip
  readonly consents: Consents
  readonly delegations: Pick<Delegations, 'allow'>
  readonly agents: Pick<Agents, 'of'>
  readonly codes: Codes
  readonly pushedRequests: PushedRequests
  readonly interaction: ReturnType<typeof createInteraction>
  readonly answer: Answer
}

const silent = {
  'sign-in': loginRequired('the user must sign in'),
  account: oauthError('account_selection_required')('the user must choose an account'),
  consent: oauthError('consent_required')('the user must consent'),
} as const
const nothing = { statements: [], events: [] } as const
const usedBefore = oauthError('invalid_request_uri')('the request_uri was used')

export const createFlow = (parts: FlowParts) => {
  const { recorder, sessions, pages, trip, consents, delegations, agents, codes } = parts
  const { pushedRequests, interaction, answer } = parts

  const consentEvent = (
    { request: http, issuer }: ProtocolVisit,
    { client }: AuthorizeJourney,
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
    visit: ProtocolVisit,
    journey: AuthorizeJourney,
    error: OAuthError,
    events: readonly AuditEvent[] = [],
  ): Promise<FastifyReply> => {
    if (journey.waiting) await recorder.append(trip.endOf(journey), events)
    return answer(visit, journey.client, journey.request, error)
  }

  const consented = async (
    visit: ProtocolVisit,
    journey: AuthorizeJourney,
    found: FoundSession,
  ): Promise<{ statements: readonly Statement[]; events: readonly AuditEvent[] }> => {
    const { client, request } = journey
    const { name: realm, view } = visit.issuer
    const asked = await askedScopes(visit.issuer, client, request)
    const agent = await agents.of(view, client.clientId)
    const [userId, clientId] = [found.user.id, client.id]
    return {
      statements: [
        ...(await consents.grant(realm, userId, clientId, asked)),
        // From now on the user sees the agent, and what the user revokes stays revoked.
        ...(agent
          ? [delegations.allow({ realm, userId, agentId: agent.id, clientId, scope: asked })]
          : []),
      ],
      events: [consentEvent(visit, journey, found, 'SUCCESS', asked.join(' '))],
    }
  }

  const complete = async (
    visit: ProtocolVisit,
    journey: AuthorizeJourney,
    { found: { session, user }, organization }: Extract<Need, { kind: 'nothing' }>,
    consenting: boolean,
  ): Promise<FastifyReply> => {
    const { issuer } = visit
    const { client, request } = journey
    const { code, statements } = codes.issue(issuer, client, session, request, organization)
    const consent = consenting ? await consented(visit, journey, { session, user }) : nothing
    const used = request.pushed === undefined ? [] : pushedRequests.use(issuer.name, request.pushed)
    try {
      await recorder.append(
        [...trip.endOf(journey), ...used, ...consent.statements, ...statements],
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
    visit: ProtocolVisit,
    journey: AuthorizeJourney,
    need: Exclude<Need, { kind: 'nothing' }>,
    handle: string,
  ): Promise<FastifyReply> => {
    if (need.kind === 'sign-in') return trip.toSignIn(visit, handle)
    if (need.kind === 'account') return trip.askAccount(visit, journey, need.found, handle)
    const asked = await askedScopes(visit.issuer, journey.client, journey.request)
    const words = await scopeWords(visit.issuer, journey.client, asked)
    const shown = shownApplication(journey.client, journey.request.redirectUri)
    const agent = await agents.of(visit.issuer.view, journey.client.clientId)
    const page = trip.pageOf(visit, journey, need.found, handle)
    return pages.consent(visit.reply, {
      ...page,
      ...words,
      ...shown,
      agent: agent && shownAgent(agent),
    })
  }

  /** `consenting` where the user has just allowed it. */
  const proceed = async (
    visit: ProtocolVisit,
    journey: AuthorizeJourney,
    consenting = false,
  ): Promise<FastifyReply> => {
    const { client, request } = journey
    const progress = await trip.progressOf(visit, journey)
    try {
      const need = await interaction(visit.issuer, client, request, {
        ...progress,
        consents: consenting,
      })
      if (need.kind === 'nothing') return await complete(visit, journey, need, consenting)
      if (request.prompt.includes('none')) throw silent[need.kind]
      const handle = await trip.handleOf(visit, journey, progress.priorSignIn)
      return await show(visit, journey, need, handle)
    } catch (error) {
      if (error instanceof OAuthError) return refuse(visit, journey, error)
      throw error
    }
  }

  /** The decision of the user on the page for consent or accounts. */
  const decide = (
    visit: ProtocolVisit,
    journey: WaitingAuthorize,
    said: Decision,
  ): Promise<FastifyReply> =>
    trip.decide(visit, journey, said, {
      proceed: (chosen) => proceed(visit, chosen),
      others: {
        allow: () => proceed(visit, journey, true),
        deny: (found) =>
          refuse(visit, journey, accessDenied('the user did not allow it'), [
            consentEvent(visit, journey, found, 'FAILURE', 'access_denied'),
          ]),
      },
    })

  return { proceed, decide }
}
