/** Opens the SAML identity provider: its endpoints, and what the sign-in page learns about what waits for it. */

import type { FastifyPluginAsync } from 'fastify'
import { bindingUrns } from '#schemas/drivers/saml.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { createRefusals } from '#server/audit/floods/refusals.ts'
import type { HttpArea } from '#server/http/open.ts'
import { installPageErrors } from '#server/http/pages/page-errors.ts'
import type { ErrorPage } from '#server/http/pages/pages.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { KeysArea } from '#server/keys/open.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { RealmArea } from '#server/realm/open.ts'
import { createFetchMetadata } from '#server/saml-metadata/fetch-metadata.ts'
import type { FramesOf } from '#server/sessions/front-channel.ts'
import { createSamlSessions } from '#server/sessions/saml-sessions.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { SignInArea } from '#server/sign-in/open.ts'
import type { FindPending } from '#server/sign-in/pages/pending.ts'
import { errorContext } from '#server/sign-in/pages/visit.ts'
import { formTargets } from '#server/sign-in/waiting/form-targets.ts'
import type { Storage } from '#server/storage/contract.ts'
import { addKeycloakPaths } from '#server/tokens/keycloak/paths.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import { createPublishedKeys } from '#server/tokens/published-keys.ts'
import { printable } from '#server/users/names.ts'
import { XmlRefused } from '#server/xml/index.ts'
import { takeSoap } from '#server/xml/messages/soap.ts'
import { artifactPath, keycloakPaths, sloPath, ssoPath } from './addresses.ts'
import { createArtifacts, endpointIndex } from './artifact/artifacts.ts'
import { createDeliver } from './artifact/deliver.ts'
import { resolveRoutes } from './artifact/resolve.ts'
import { createAttributes } from './assertion/attributes.ts'
import { createNameIds } from './assertion/name-id.ts'
import { createResponses, createSignerFor } from './assertion/response.ts'
import { takeForms } from './bindings/forms.ts'
import { SamlRefused } from './errors.ts'
import { createKeyUses } from './key-uses.ts'
import { createEndSessions } from './logout/end-sessions.ts'
import { createLogoutFlow } from './logout/logout-flow.ts'
import { createLogoutMessages } from './logout/logout-messages.ts'
import { createLogouts } from './logout/logouts.ts'
import { createParticipants } from './logout/participants.ts'
import { sloRoutes } from './logout/slo.ts'
import { createSoapLogout } from './logout/soap-logout.ts'
import { type MetadataService, metadataRoutes } from './metadata/metadata.ts'
import { createMetadataReads } from './metadata/metadata-reads.ts'
import { createMetadataRefresh } from './metadata/refresh.ts'
import { samlPages } from './page-definitions.ts'
import { findServiceProvider } from './service-provider.ts'
import { aimedLevel, createInteraction, stepsUp } from './sso/interaction.ts'
import { ssoRoutes } from './sso/sso.ts'
import { createSsoFlow } from './sso/sso-flow.ts'
import { ssoProtocol } from './sso/sso-protocol.ts'

export interface SamlNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly logger: Logger
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'tokenIssued' | 'samlLogout'>
  readonly jobs: Pick<Jobs, 'wake'>
  readonly keys: Pick<KeysArea, 'realmKeys' | 'signingKeys'>
  readonly sessions: Sessions
  readonly tokens: Pick<TokensArea, 'issuers' | 'subjects' | 'grantsStore'>
  readonly http: HttpArea
  readonly signIn: Pick<SignInArea, 'browser' | 'roundTrip'>
  readonly realm: Pick<RealmArea, 'writer'>
}

/** THE list of endpoints that the metadata names. */
const services: readonly MetadataService[] = [
  {
    name: 'ArtifactResolutionService',
    binding: bindingUrns.SOAP,
    path: artifactPath,
    index: endpointIndex,
  },
  { name: 'SingleLogoutService', binding: bindingUrns['HTTP-Redirect'], path: sloPath },
  { name: 'SingleLogoutService', binding: bindingUrns['HTTP-POST'], path: sloPath },
  { name: 'SingleLogoutService', binding: bindingUrns.SOAP, path: sloPath },
  { name: 'SingleSignOnService', binding: bindingUrns['HTTP-Redirect'], path: ssoPath },
  { name: 'SingleSignOnService', binding: bindingUrns['HTTP-POST'], path: ssoPath },
]

const tell = (error: unknown): Pick<ErrorPage, 'status' | 'error' | 'detail'> | undefined => {
  if (error instanceof XmlRefused)
    return { status: 400, error: 'application', detail: error.message }
  if (!(error instanceof SamlRefused)) return undefined
  if (error.status === 404) return { status: 404, error: 'not-found' }
  return { status: error.status, error: 'application', detail: error.message }
}

export const openSaml = (needs: SamlNeeds) => {
  const { storage, clock, outgoing, recorder, metrics, jobs, keys, sessions, tokens } = needs
  const { http, signIn } = needs
  const { writer } = needs.realm
  const { issuers, subjects, grantsStore } = tokens
  const { mapError } = http
  const pages = http.pages.with(samlPages)
  const { realmKeys, signingKeys } = keys
  const trip = signIn.roundTrip(ssoProtocol)
  const refusals = createRefusals({ recorder, clock, logger: needs.logger })
  const samlSessions = createSamlSessions({ storage, clock })
  const nameIds = createNameIds({ storage, clock, subjects })
  const signerFor = createSignerFor({ realmKeys, clock })
  const keyUses = createKeyUses({ storage, clock })
  const artifacts = createArtifacts({ storage, clock })
  const flow = createSsoFlow({
    clock,
    recorder,
    metrics,
    sessions,
    samlSessions,
    grantsStore,
    trip,
    nameIds,
    attributesOf: createAttributes(storage),
    respond: createResponses({ signerFor, clock }),
    deliver: createDeliver({ pages, artifacts }),
    interaction: createInteraction(nameIds),
    signerFor,
    keyUses,
  })
  const addSso = ssoRoutes({ clock, issuers, recorder, refusals, trip, flow })
  const messages = createLogoutMessages({ signerFor, clock })
  const logouts = createLogouts({ storage, clock })
  const logoutFlow = createLogoutFlow({
    clock,
    recorder,
    samlSessions,
    logouts,
    messages,
    progressOf: createParticipants(samlSessions),
    pages,
  })
  const addSlo = (framesOf: FramesOf) =>
    sloRoutes({
      clock,
      issuers,
      recorder,
      refusals,
      metrics,
      sessions,
      samlSessions,
      browser: signIn.browser,
      messages,
      endSessions: createEndSessions({
        clock,
        recorder,
        jobs,
        sessions,
        samlSessions,
        grantsStore,
      }),
      flow: logoutFlow,
      framesOf,
    })
  const addResolve = resolveRoutes({ clock, issuers, recorder, refusals, signerFor, artifacts })
  const addMetadata = metadataRoutes({
    clock,
    issuers,
    services,
    publishedKeys: createPublishedKeys({ issuers, realmKeys, signingKeys, clock }),
  })

  /** Undefined unless the handle is of a request for single sign-on that waits for this browser. */
  const findPending: FindPending = async (request, realm, handle) => {
    const found = await trip.findOf(request, realm, handle)
    if (!found) return undefined
    const { request: asked } = found
    const { subject } = asked
    const isHint = subject?.format === 'email' || subject?.format === 'unspecified'
    return {
      continueTo: trip.addressOf(realm, found.handle),
      username: isHint ? printable(subject.value, 255) : undefined,
      clientId: found.clientId,
      application: async (view) =>
        (await findServiceProvider({ view }, found.clientId))?.displayName,
      acr: aimedLevel(asked),
      fresh: asked.forceAuthn,
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
      fetchMetadata: createFetchMetadata(outgoing),
    }),
    beginSamlLogout: logoutFlow.beginOther,
    tellLogout: createSoapLogout({ storage, outgoing, samlSessions, messages }),
    forgetStatements: () => [
      ...samlSessions.forgetStatements(),
      ...keyUses.forgetStatements(),
      ...logouts.forgetStatements(),
      ...artifacts.forgetStatements(),
    ],
    /** Errors become pages. The frames are those of OIDC clients of a session that ends here. */
    routes:
      (framesOf: FramesOf): FastifyPluginAsync =>
      async (app) => {
        installPageErrors(app, {
          pages,
          mapError,
          tell,
          contextOf: errorContext(pages, issuers),
        })
        app.addHook('onClose', refusals.close)
        takeForms(app)
        takeSoap(app)
        addKeycloakPaths(app, issuers, keycloakPaths)
        addSso(app)
        addSlo(framesOf)(app)
        addResolve(app)
        addMetadata(app)
      },
  }
}

export type SamlArea = ReturnType<typeof openSaml>
