/** Opens the SAML identity provider: its endpoints, and what the sign-in page learns about what waits for it. */

import type { FastifyPluginAsync } from 'fastify'
import { acsBindings } from '#schemas/drivers/saml.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { HttpArea } from '#server/http/open.ts'
import { installPageErrors } from '#server/http/pages/page-errors.ts'
import type { ErrorPage } from '#server/http/pages/pages.ts'
import type { KeysArea } from '#server/keys/open.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { RealmArea } from '#server/realm/open.ts'
import { createSamlSessions } from '#server/sessions/saml-sessions.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { SignInArea } from '#server/sign-in/open.ts'
import type { FindPending } from '#server/sign-in/pages/pending.ts'
import { errorContext } from '#server/sign-in/pages/visit.ts'
import { formTargets } from '#server/sign-in/waiting/form-targets.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import { createPublishedKeys } from '#server/tokens/published-keys.ts'
import { XmlRefused } from '#server/xml/index.ts'
import { ssoPath } from './addresses.ts'
import { createAttributes } from './assertion/attributes.ts'
import { createNameIds } from './assertion/name-id.ts'
import { createResponses, createSignerFor } from './assertion/response.ts'
import { takeForms } from './bindings/forms.ts'
import { SamlRefused } from './errors.ts'
import { createKeyUses } from './key-uses.ts'
import { createFetchMetadata } from './metadata/fetch-metadata.ts'
import { type MetadataService, metadataRoutes } from './metadata/metadata.ts'
import { createMetadataReads } from './metadata/metadata-reads.ts'
import { createMetadataRefresh } from './metadata/refresh.ts'
import { samlPages } from './page-definitions.ts'
import { aimedLevel, createInteraction, stepsUp } from './sso/interaction.ts'
import { ssoRoutes } from './sso/sso.ts'
import { createSsoFlow } from './sso/sso-flow.ts'
import { ssoProtocol } from './sso/sso-protocol.ts'

export interface SamlNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'tokenIssued'>
  readonly keys: Pick<KeysArea, 'realmKeys' | 'signingKeys'>
  readonly sessions: Sessions
  readonly tokens: Pick<TokensArea, 'issuers' | 'subjects' | 'grantsStore'>
  readonly http: HttpArea
  readonly signIn: Pick<SignInArea, 'roundTrip'>
  readonly realm: Pick<RealmArea, 'writer'>
  readonly outgoing: Outgoing
}

/** THE list of endpoints that the metadata names. */
const services: readonly MetadataService[] = [
  {
    name: 'SingleSignOnService',
    binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
    path: ssoPath,
  },
  { name: 'SingleSignOnService', binding: acsBindings['HTTP-POST'], path: ssoPath },
]

const tell = (error: unknown): Pick<ErrorPage, 'status' | 'error' | 'detail'> | undefined => {
  if (error instanceof XmlRefused)
    return { status: 400, error: 'application', detail: error.message }
  if (!(error instanceof SamlRefused)) return undefined
  if (error.status === 404) return { status: 404, error: 'not-found' }
  return { status: error.status, error: 'application', detail: error.message }
}

export const openSaml = (needs: SamlNeeds) => {
  const { storage, clock, recorder, metrics, keys, sessions, tokens, http, signIn } = needs
  const { writer } = needs.realm
  const { issuers, subjects, grantsStore } = tokens
  const { mapError } = http
  const pages = http.pages.with(samlPages)
  const { realmKeys, signingKeys } = keys
  const trip = signIn.roundTrip(ssoProtocol)
  const samlSessions = createSamlSessions({ storage, clock })
  const nameIds = createNameIds({ storage, clock, subjects })
  const signerFor = createSignerFor({ realmKeys, clock })
  const keyUses = createKeyUses({ storage, clock })
  const flow = createSsoFlow({
    clock,
    recorder,
    metrics,
    sessions,
    samlSessions,
    grantsStore,
    pages,
    trip,
    nameIds,
    attributesOf: createAttributes(storage),
    respond: createResponses({ signerFor, clock }),
    interaction: createInteraction(nameIds),
    signerFor,
    keyUses,
  })
  const addSso = ssoRoutes({ clock, issuers, recorder, trip, flow })
  const addMetadata = metadataRoutes({
    clock,
    issuers,
    services,
    publishedKeys: createPublishedKeys({ issuers, realmKeys, signingKeys, clock }),
  })

  /** Nothing unless the handle is of a request for single sign-on that waits for this browser. */
  const findPending: FindPending = async (request, realm, handle) => {
    const found = await trip.findOf(request, realm, handle)
    if (!found) return undefined
    const { request: asked } = found
    const hinted = asked.subject?.format === 'email' || asked.subject?.format === 'unspecified'
    return {
      continueTo: trip.addressOf(realm, found.handle),
      username: hinted ? asked.subject?.value : undefined,
      clientId: found.clientId,
      acr: aimedLevel(asked),
      stepsUp: stepsUp(asked),
      formTargets: formTargets(asked.acs.url),
    }
  }

  const metadataReads = createMetadataReads({ storage })

  return {
    findPending,
    keyUses,
    metadataReads,
    /** Reads the metadata of the realm's service providers again, where it is due. */
    refreshMetadata: createMetadataRefresh({
      clock,
      recorder,
      writer,
      reads: metadataReads,
      fetchMetadata: createFetchMetadata(needs.outgoing),
    }),
    forgetStatements: () => [...samlSessions.forgetStatements(), ...keyUses.forgetStatements()],
    /** Errors are told on pages. */
    routes: (async (app) => {
      installPageErrors(app, {
        pages,
        mapError,
        tell,
        contextOf: errorContext(pages, issuers),
      })
      takeForms(app)
      addSso(app)
      addMetadata(app)
    }) satisfies FastifyPluginAsync,
  }
}

export type SamlArea = ReturnType<typeof openSaml>
