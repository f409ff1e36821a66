/**
 * From a request that is right to its answer: finds out what the user still has to do, sends the browser there, and makes
 * the assertion once there is nothing left. Whatever happened before is looked at anew each time.
 */

import type { FastifyReply } from 'fastify'
import { SamlClient } from '#schemas/kinds/clients/saml-client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import { sha256 } from '#server/platform/random.ts'
import { doerOf } from '#server/sessions/doer.ts'
import type { SamlSessions } from '#server/sessions/saml-sessions.ts'
import { sessionEndedGuard } from '#server/sessions/session-clients.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import { type Decision, expired, type ProtocolVisit } from '#server/sign-in/waiting/round-trip.ts'
import { waitingMs } from '#server/sign-in/waiting/waiting-requests.ts'
import { ConstraintError, GuardFailedError } from '#server/storage/contract.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Deliver } from '../artifact/deliver.ts'
import { assertionOf } from '../assertion/assertion.ts'
import type { AttributesOf } from '../assertion/attributes.ts'
import type { NameIds } from '../assertion/name-id.ts'
import type { Answered, Respond, SignerFor } from '../assertion/response.ts'
import { SamlStatusError } from '../errors.ts'
import type { KeyUses } from '../key-uses.ts'
import { optionsOf, type ServiceProvider } from '../service-provider.ts'
import { isFederated } from './authn-context.ts'
import type { createInteraction, Need } from './interaction.ts'
import type { SsoJourney, SsoTrip, WaitingSso } from './sso-protocol.ts'
import type { SsoRequest } from './sso-request.ts'

export interface FlowParts {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'tokenIssued'>
  readonly sessions: Pick<Sessions, 'touch'>
  readonly samlSessions: SamlSessions
  readonly grantsStore: Pick<GrantsStore, 'once'>
  readonly trip: SsoTrip
  readonly nameIds: NameIds
  readonly attributesOf: AttributesOf
  readonly respond: Respond
  readonly deliver: Deliver
  readonly interaction: ReturnType<typeof createInteraction>
  readonly signerFor: SignerFor
  readonly keyUses: Pick<KeyUses, 'use'>
}

/** One request is answered with one assertion. */
const replayPurpose = (provider: ServiceProvider): string => `saml-request ${provider.id}`

const usedBefore = new SamlStatusError('RequestDenied', 'the request was answered before')

/** The same for the session at one service provider, and telling nothing to others. */
const sessionIndexOf = (sid: string, { id }: ServiceProvider): string =>
  `_${sha256(`saml-session ${sid} ${id}`)}`

export const createSsoFlow = (parts: FlowParts) => {
  const { clock, recorder, metrics, sessions, samlSessions, grantsStore, trip } = parts
  const { nameIds, attributesOf, respond, deliver, interaction } = parts
  const { signerFor, keyUses } = parts

  const eventOf = (
    { request, issuer }: ProtocolVisit,
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
    visit: ProtocolVisit,
    provider: ServiceProvider,
    answered: Answered & Pick<SsoRequest, 'relayState'>,
    error: SamlStatusError,
    found?: FoundSession,
  ): Promise<FastifyReply> => {
    const detail = `${error.code}: ${error.message}`
    visit.request.log.info({ detail }, 'single sign-on refused')
    const response = await respond(visit.issuer, provider, answered, error)
    const delivery = deliver(visit.issuer, provider, answered, response)
    const event = eventOf(visit, provider, found, 'FAILURE', detail)
    await recorder.append(delivery.statements, [event])
    return delivery.send(visit)
  }

  const refuse = async (
    visit: ProtocolVisit,
    journey: SsoJourney,
    error: SamlStatusError,
    found?: FoundSession,
  ): Promise<FastifyReply> => {
    if (journey.waiting) await recorder.append(trip.endOf(journey), [])
    return tell(visit, journey.client, journey.request, error, found)
  }

  const complete = async (
    visit: ProtocolVisit,
    journey: SsoJourney,
    { found, contextClass }: Extract<Need, { kind: 'nothing' }>,
  ): Promise<FastifyReply> => {
    const { issuer } = visit
    const { client: provider, request } = journey
    const { session, user } = found
    const options = optionsOf(issuer, provider)
    const known = await nameIds.knownThere(provider, found)
    const nameId = await nameIds.nameIdFor(issuer, provider, user, request.nameId, known)
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
      authority: isFederated(session) ? known.authority : null,
      attributes: options.includeAttributes ? await attributesOf(issuer, provider, user) : [],
      now,
    })
    const { kid } = await signerFor(issuer, provider)
    const keyUse = keyUses.use(issuer.name, provider.id, kid)
    const response = await respond(issuer, provider, request, assertion)
    const delivery = deliver(issuer, provider, request, response)
    try {
      await recorder.append(
        [
          ...trip.endOf(journey),
          ...(request.id === undefined
            ? []
            : grantsStore.once(
                issuer.name,
                replayPurpose(provider),
                request.id,
                now + 2 * waitingMs,
              )),
          ...nameId.statements,
          ...keyUse.statements,
          ...delivery.statements,
          ...samlSessions.visit({
            session,
            providerId: provider.id,
            nameId,
            sessionIndex,
            told: known.told,
          }),
        ],
        [eventOf(visit, provider, found, 'SUCCESS', contextClass)],
      )
    } catch (error) {
      if (error instanceof GuardFailedError) {
        if (error.guard !== sessionEndedGuard) throw expired()
        // The session has ended meanwhile: what is needed is asked anew.
        return proceed(visit, journey)
      }
      if (error instanceof ConstraintError && error.table === 'replay_guards')
        return tell(visit, provider, request, usedBefore, found)
      throw error
    }
    keyUse.written()
    metrics.tokenIssued(issuer.name)
    await sessions.touch(session, issuer.settings)
    return delivery.send(visit)
  }

  const proceed = async (visit: ProtocolVisit, journey: SsoJourney): Promise<FastifyReply> => {
    const { client: provider, request } = journey
    const progress = await trip.progressOf(visit, journey)
    try {
      const need = await interaction(visit.issuer, provider, request, progress)
      if (need.kind === 'nothing') return await complete(visit, journey, need)
      if (request.isPassive)
        throw new SamlStatusError('NoPassive', 'the user must be asked, which IsPassive forbids')
      const handle = await trip.handleOf(visit, journey, progress.priorSignIn)
      return need.kind === 'sign-in'
        ? trip.toSignIn(visit, handle)
        : trip.askAccount(visit, journey, need.found, handle)
    } catch (error) {
      if (error instanceof SamlStatusError) return refuse(visit, journey, error, progress.found)
      throw error
    }
  }

  /** The decision of the user on the page for accounts. */
  const decide = (
    visit: ProtocolVisit,
    journey: WaitingSso,
    said: Decision,
  ): Promise<FastifyReply> =>
    trip.decide(visit, journey, said, { proceed: (chosen) => proceed(visit, chosen) })

  return { proceed, decide, tell }
}

export type SsoFlow = ReturnType<typeof createSsoFlow>
