/**
 * SAML 2.0 as a service provider of another identity provider (SAML Profiles §4.1). Requests are always signed; answers are read
 * by `response/`, and an assertion counts once on all nodes. Schemes on top of it (eHerkenning, eIDAS) say what they add.
 */

import type { ProtocolName } from '#schemas/drivers/identity-providers.ts'
import type { Finding } from '#schemas/wire/findings.ts'
import { presentOnce } from '#server/credentials/replay-guards.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { ClientIdentity, Outgoing } from '#server/platform/outgoing/client.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import {
  MESSAGE_LIMIT,
  newMessageId,
  readBase64,
  type SigningKey,
  signElement,
} from '#server/xml/index.ts'
import {
  type Arrival,
  type BrokerProtocol,
  LogoutRefused,
  type Provider,
  type Trip,
  type UpstreamIdentity,
  UpstreamRefused,
} from '../../protocol.ts'
import { artifactResponseIn, type Resolved, resolveArtifact } from './artifact.ts'
import { checkProvider } from './check.ts'
import { identityOf } from './identity.ts'
import {
  endedBy,
  isLogoutResponse,
  type LogoutRules,
  logoutAnswer,
  logoutRequest,
  readLogoutRequest,
  readLogoutResponse,
  readSoapLogoutResponse,
} from './logout.ts'
import type { IdpMetadataReads } from './metadata/idp-metadata.ts'
import { gated, notAllowed, refuse, XmlAnswerRefused } from './refuse.ts'
import { authnRequest, carry, type RequestExtras } from './request.ts'
import { type Answer, readResponse } from './response/read-response.ts'
import type { ResponseRules } from './response/rules.ts'
import { type SamlSettings, settingsOf } from './settings.ts'
import { sendSoapRequest } from './soap.ts'
import { spMetadata } from './sp-metadata.ts'
import { type Upstream, upstreamOf } from './upstream.ts'

/** What a scheme makes of SAML. */
export interface Scheme {
  readonly names: readonly ProtocolName[]
  /** What its rules demand whatever the document says. */
  readonly settings: (provider: Provider) => SamlSettings
  readonly extras: (provider: Provider, trip: Trip) => RequestExtras
  readonly identity: (answer: Answer, provider: Provider, issuer: string) => UpstreamIdentity
  /** Whether the NameID is the subject of links. */
  readonly isNameIdSubject: (provider: Provider) => boolean
  /** For mutual TLS at the artifact resolution service. */
  readonly client: (provider: Provider) => ClientIdentity | undefined
  /** What `doctor` says beside the rest. */
  readonly findings?: (provider: Provider) => readonly Finding[]
}

export interface SamlParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly clock: Clock
  readonly outgoing: Pick<Outgoing, 'request' | 'resolve'>
  /** The keys of a realm that sign or will, the one that signs now first. */
  readonly signersOf: (realm: string) => Promise<readonly SigningKey[]>
  readonly metadata: IdpMetadataReads
}

interface Kept {
  readonly id: string
  readonly sentAt: number
  readonly isForced: boolean
}

/** Of our LogoutRequest. */
interface KeptLogout {
  readonly id: string
}

const replayed = 'saml-assertion'

/** A persistent NameID has at most 256 characters (SAML Core §8.3.7); its qualifiers may stand before it. */
const longestSubject = 512

const stateOf = (arrival: Arrival): string | undefined =>
  arrival.method === 'POST' ? arrival.form('RelayState') : arrival.query('RelayState')

/** Our name at the provider, which the rule of its protocol requires. */
const spEntityIdOf = ({ config }: Provider): string => config.spEntityId as string

/** The keys of ours that sign for a provider, the one that signs now first. */
const createSignersFor =
  ({ signersOf }: Pick<SamlParts, 'signersOf'>) =>
  async (
    { realm }: Provider,
    { signing }: SamlSettings,
  ): Promise<readonly [SigningKey, ...SigningKey[]]> => {
    const [first, ...others] = signing ? [signing] : await signersOf(realm)
    return first ? [first, ...others] : notAllowed('the realm has no signing key')
  }

export const createSamlProtocol = (parts: SamlParts, scheme: Scheme): BrokerProtocol => {
  const { storage, clock, metadata } = parts
  const signersFor = createSignersFor(parts)

  const acsUrlOf = ({ provider, endpoint }: Pick<Trip, 'provider' | 'endpoint'>): string =>
    provider.config.assertionConsumerServiceUrl ?? endpoint

  const upstreamFor = async (provider: Provider): Promise<Upstream> =>
    upstreamOf(provider, scheme.settings(provider), await metadata.of(provider))

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
    const [key] = await signersFor(provider, settings)
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
  ): ResponseRules => {
    const { decryption, ...settings } = scheme.settings(trip.provider)
    return {
      ...settings,
      decryption,
      idpEntityId: upstream.entityId,
      keys: upstream.keys,
      spEntityId: spEntityIdOf(trip.provider),
      acsUrl: acsUrlOf(trip),
      request,
      now: clock.now(),
      contextClasses,
    }
  }

  const read = (answer: string | Resolved, rules: ResponseRules): Answer =>
    readResponse(typeof answer === 'string' ? answer : artifactResponseIn(answer, rules), rules)

  /** A signature by an unknown key may be of a new one: then the metadata is read again, once. */
  const following = async <T>(
    provider: Provider,
    upstream: Upstream,
    verify: (upstream: Upstream) => T,
  ): Promise<T> => {
    try {
      return verify(upstream)
    } catch (error) {
      const isUnknownKey =
        error instanceof XmlAnswerRefused &&
        (error.refusal === 'signature' || error.refusal === 'algorithm')
      const fresh = isUnknownKey
        ? await metadata.afresh(provider).catch(() => undefined)
        : undefined
      if (!fresh) throw error
      return verify(upstreamOf(provider, scheme.settings(provider), fresh))
    }
  }

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

  const logoutRulesOf = (
    provider: Provider,
    upstream: Upstream,
    logoutUrl: string,
  ): LogoutRules => {
    const { skewMs, decryption } = scheme.settings(provider)
    return {
      idpEntityId: upstream.entityId,
      keys: upstream.keys,
      now: clock.now(),
      skewMs,
      decryption,
      logoutUrl,
      subjectIsNameId: scheme.isNameIdSubject(provider),
    }
  }

  /** Classes that the answer must have, where they were asked for exactly. */
  const exactClasses = ({ contextClasses, contextComparison }: RequestExtras): readonly string[] =>
    contextComparison === 'exact' ? contextClasses : []

  return {
    names: scheme.names,

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
      const [key] = await signersFor(provider, settings)
      const sent = { parameter: 'SAMLRequest', message, relayState: trip.state } as const
      return { departure: await carry({ ...sent, ...upstream.sso }, key), kept }
    },

    stateOf,

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

    describe: async ({ provider, endpoint, logoutUrl }) => {
      const settings = scheme.settings(provider)
      return spMetadata({
        entityId: spEntityIdOf(provider),
        acsUrl: acsUrlOf({ provider, endpoint }),
        logoutUrl,
        config: provider.config,
        settings,
        signing: await signersFor(provider, settings),
        now: clock.now(),
      })
    },

    logout: async (provider, session, { state }) => {
      const { logout, soapLogoutUrl } = await upstreamFor(provider)
      const { nameId } = session
      if (nameId === undefined) return undefined
      if (!logout) return soapLogoutUrl === undefined ? undefined : { kind: 'server' }
      const { url, binding } = logout
      const kept: KeptLogout = { id: newMessageId() }
      const made = { ...kept, url, spEntityId: spEntityIdOf(provider), now: clock.now() }
      const message = logoutRequest(nameId, session, made)
      const [key] = await signersFor(provider, scheme.settings(provider))
      const sent = { parameter: 'SAMLRequest', message, url, binding, relayState: state } as const
      return { kind: 'browser', departure: await carry(sent, key), kept }
    },

    tellLogout: async (provider, session, signal) => {
      const upstream = await upstreamFor(provider)
      const { soapLogoutUrl: url } = upstream
      const { nameId } = session
      // The metadata has changed since, and names no such service any more.
      if (url === undefined || nameId === undefined) return
      const [key] = await signersFor(provider, scheme.settings(provider))
      const made = {
        id: newMessageId(),
        url,
        spEntityId: spEntityIdOf(provider),
        now: clock.now(),
      }
      const received = await sendSoapRequest(parts, {
        service: 'single logout service',
        url,
        message: await signElement(logoutRequest(nameId, session, made), key),
        client: scheme.client(provider),
        signal,
      })
      const problem = await following(provider, upstream, (one) =>
        readSoapLogoutResponse(received, made, logoutRulesOf(provider, one, url)),
      )
      if (problem !== undefined) throw new UpstreamRefused('denied', problem)
    },

    endSession: async (provider, arrival, url) => {
      const upstream = await upstreamFor(provider)
      const asked = await following(provider, upstream, (one) =>
        readLogoutRequest(arrival, logoutRulesOf(provider, one, url)),
      )
      const [key] = await signersFor(provider, scheme.settings(provider))
      const spEntityId = spEntityIdOf(provider)
      const answer = (isEnded: boolean) =>
        logoutAnswer(upstream, asked, { spEntityId, key, now: clock.now(), isEnded })
      try {
        return { ...endedBy(asked), answer }
      } catch (error) {
        throw error instanceof UpstreamRefused ? new LogoutRefused(error, answer) : error
      }
    },

    logoutAnswer: (arrival) =>
      isLogoutResponse(arrival) ? { state: stateOf(arrival) } : undefined,

    loggedOut: async (provider, kept, arrival, url) => {
      const upstream = await upstreamFor(provider)
      const { id } = kept as KeptLogout
      return following(provider, upstream, (one) =>
        readLogoutResponse(arrival, id, logoutRulesOf(provider, one, url)),
      )
    },

    check: async (provider) => [
      ...(scheme.findings?.(provider) ?? []),
      ...(await checkProvider(parts, provider, scheme.settings(provider), scheme.client(provider))),
    ],
  }
}

/** Levels of ours that are classes of SAML too: URIs. */
const classesOf = (acr: Trip['acr']): readonly string[] | undefined => {
  const classes = (acr ?? []).filter((one) => one.includes(':'))
  return classes.length > 0 ? classes : undefined
}

/** SAML without a scheme on top. */
export const plainSaml: Scheme = {
  names: ['saml'],
  settings: settingsOf,
  extras: ({ config }, { acr }) => ({
    contextClasses: classesOf(acr) ?? config.authnContextClassRefs ?? [],
    contextComparison: config.authnContextComparison ?? 'exact',
    attributeConsumingServiceIndex: config.attributeConsumingServiceIndex,
  }),
  identity: (answer, provider, issuer) =>
    identityOf(answer, {
      config: provider.config,
      issuer,
      nameIdFormat: settingsOf(provider).nameIdFormat,
    }),
  isNameIdSubject: ({ config }) => config.subjectAttribute === undefined,
  client: () => undefined,
}
