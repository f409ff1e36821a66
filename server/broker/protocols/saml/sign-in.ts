/** A sign-in at the provider: our request, and the assertion that answers it (SAML Profiles §4.1). */

import { presentOnce } from '#server/credentials/replay-guards.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { MESSAGE_LIMIT, newMessageId, readBase64 } from '#server/xml/index.ts'
import {
  type Arrival,
  type BrokerProtocol,
  type Provider,
  type Trip,
  type UpstreamIdentity,
  UpstreamRefused,
} from '../../protocol.ts'
import { artifactResponseIn, type Resolved, resolveArtifact } from './artifact.ts'
import { type Parties, type SamlParts, spEntityIdOf } from './parties.ts'
import { gated, notAllowed, refuse } from './refuse.ts'
import { authnRequest, carry, type RequestExtras } from './request.ts'
import { type Answer, readResponse } from './response/read-response.ts'
import type { ResponseRules } from './response/rules.ts'
import type { Scheme } from './scheme.ts'
import type { Upstream } from './upstream.ts'

interface Kept {
  readonly id: string
  readonly sentAt: number
  readonly isForced: boolean
}

const replayed = 'saml-assertion'

/** A persistent NameID has at most 256 characters (SAML Core §8.3.7); its qualifiers may stand before it. */
const longestSubject = 512

export const acsUrlOf = ({ provider, endpoint }: Pick<Trip, 'provider' | 'endpoint'>): string =>
  provider.config.assertionConsumerServiceUrl ?? endpoint

const read = (answer: string | Resolved, rules: ResponseRules): Answer =>
  readResponse(typeof answer === 'string' ? answer : artifactResponseIn(answer, rules), rules)

/** Classes that the answer must have, where they were asked for exactly. */
const exactClasses = ({ contextClasses, contextComparison }: RequestExtras): readonly string[] =>
  contextComparison === 'exact' ? contextClasses : []

export const createSignIn = (
  parts: SamlParts,
  scheme: Scheme,
  { signersFor, upstreamFor, following }: Parties,
): Pick<BrokerProtocol, 'begin' | 'finish' | 'unsolicited'> => {
  const { storage, clock } = parts

  /** The answer as it came, or as it was fetched. */
  const received = async (
    trip: Pick<Trip, 'provider' | 'endpoint'>,
    upstream: Upstream,
    arrival: Arrival,
  ): Promise<string | Resolved> => {
    const { provider } = trip
    const settings = scheme.settings(provider)
    if (settings.responseBinding === 'HTTP-POST') {
      const message = arrival.method === 'POST' ? arrival.form('SAMLResponse') : undefined
      if (message === undefined) return refuse('the answer must be a form with SAMLResponse')
      return gated(() => readBase64(message, MESSAGE_LIMIT))
    }
    const artifact = arrival.method === 'POST' ? arrival.form('SAMLart') : arrival.query('SAMLart')
    if (artifact === undefined) return refuse('the answer must have SAMLart')
    const [key] = await signersFor(provider)
    return resolveArtifact(parts, {
      artifact,
      upstream,
      spEntityId: spEntityIdOf(provider),
      now: clock.now(),
      key,
      client: scheme.client(provider),
    })
  }

  const rulesOf = (
    trip: Pick<Trip, 'provider' | 'endpoint'>,
    upstream: Upstream,
    request: Kept | undefined,
    contextClasses: readonly string[],
  ): ResponseRules => ({
    ...scheme.settings(trip.provider),
    idpEntityId: upstream.entityId,
    keys: upstream.keys,
    spEntityId: spEntityIdOf(trip.provider),
    acsUrl: acsUrlOf(trip),
    request,
    now: clock.now(),
    contextClasses,
  })

  /** The assertion counts once, on all nodes. */
  const takeOnce = async ({ id, realm }: Provider, answer: Answer): Promise<void> => {
    const presented = {
      realm,
      purpose: replayed,
      id: `${id} ${answer.id}`,
      expiresAt: answer.until,
    }
    try {
      await storage.commit([presentOnce(storage, presented, replayed)])
    } catch (error) {
      if (error instanceof GuardFailedError && error.guard === replayed)
        refuse('the assertion was presented before')
      throw error
    }
  }

  const finish = async (
    trip: Pick<Trip, 'provider' | 'endpoint'>,
    request: Kept | undefined,
    contextClasses: readonly string[],
    arrival: Arrival,
  ): Promise<UpstreamIdentity> => {
    const { provider } = trip
    const upstream = await upstreamFor(provider)
    const message = await received(trip, upstream, arrival)
    // Metadata that is read meanwhile may name another entity: links are of the one whose key has signed.
    const { answer, entityId } = await following(provider, upstream, (one) => ({
      answer: read(message, rulesOf(trip, one, request, contextClasses)),
      entityId: one.entityId,
    }))
    const identity = scheme.identity(answer, provider, entityId)
    if (identity.subject.length > longestSubject)
      notAllowed(`the subject is longer than ${longestSubject} characters`)
    await takeOnce(provider, answer)
    return identity
  }

  return {
    begin: async (trip) => {
      const { provider } = trip
      const settings = scheme.settings(provider)
      const upstream = await upstreamFor(provider)
      const extras = scheme.extras(provider, trip)
      const isForced = [trip.forceAuthn, provider.config.forceAuthn, extras.isForced].includes(true)
      const kept: Kept = { id: newMessageId(), sentAt: clock.now(), isForced }
      const message = authnRequest({
        ...extras,
        id: kept.id,
        now: kept.sentAt,
        destination: upstream.sso.url,
        acsUrl: acsUrlOf(trip),
        spEntityId: spEntityIdOf(provider),
        settings,
        asksForFormat: scheme.isNameIdSubject(provider),
        forceAuthn: isForced,
      })
      const [key] = await signersFor(provider)
      const sent = { parameter: 'SAMLRequest', message, relayState: trip.state } as const
      return { departure: await carry({ ...sent, ...upstream.sso }, key), kept }
    },

    finish: (trip, kept, arrival) =>
      finish(trip, kept as Kept, exactClasses(scheme.extras(trip.provider, trip)), arrival),

    unsolicited: async (trip, arrival) => {
      if (trip.provider.config.idpInitiatedSsoEnabled !== true)
        throw new UpstreamRefused(
          'expired',
          'no trip waits for this answer; where the provider began by itself, set idpInitiatedSsoEnabled',
        )
      await finish(trip, undefined, [], arrival)
    },
  }
}
