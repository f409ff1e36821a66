/** THE list of protocol endpoints. */

import type { Recorder } from '#server/audit/audit.ts'
import type { Refusals } from '#server/audit/floods/refusals.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { BrokerArea } from '#server/broker/open.ts'
import type { CredentialsArea } from '#server/credentials/open.ts'
import type { HttpArea } from '#server/http/open.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { KeysArea } from '#server/keys/open.ts'
import type { Secrets } from '#server/keys/secrets.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { BeginSamlLogout, FramesOf } from '#server/sessions/front-channel.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { SignInArea } from '#server/sign-in/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { FindClient, TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import type { UsersArea } from '#server/users/open.ts'
import { authorize } from './authorize/authorize.ts'
import type { AuthorizeTrip } from './authorize/authorize-protocol.ts'
import { createAuthorizeRules } from './authorize/authorize-rules.ts'
import { createInteraction } from './authorize/interaction.ts'
import { par } from './authorize/par.ts'
import { createResponseModes } from './authorize/response-modes/index.ts'
import { createAuthenticateClient } from './client-auth/authenticate-client.ts'
import { createClientKeys } from './client-auth/client-keys.ts'
import { createClientAuthMethods } from './client-auth/index.ts'
import type { Consents } from './consent/consents.ts'
import type { Preflights } from './cors.ts'
import { backchannelAuthentication } from './decoupled/backchannel-authentication.ts'
import { createCibaMessage } from './decoupled/ciba-message.ts'
import type { CibaRequests } from './decoupled/ciba-requests.ts'
import { createSignedAuthentication } from './decoupled/ciba-signed.ts'
import type { Decisions } from './decoupled/decoupled-decisions.ts'
import { deviceAuthorization } from './decoupled/device-authorization.ts'
import { createDeviceRequests } from './decoupled/device-requests.ts'
import { createConfirm } from './delegation/confirm.ts'
import { delegationConfirm } from './delegation/confirm-page.ts'
import type { Confirmations } from './delegation/confirmations.ts'
import type { Delegations } from './delegation/delegations.ts'
import { discovery } from './discovery/discovery.ts'
import { jwks } from './discovery/jwks.ts'
import type { Lists, Metadata } from './discovery/metadata.ts'
import { protectedResource } from './discovery/protected-resource.ts'
import type { Endpoint } from './endpoint.ts'
import { logout } from './logout/logout.ts'
import { oidcPages } from './page-definitions.ts'
import { createRecordRefusal } from './record-refusal.ts'
import type { UserPages } from './signed-in-pages.ts'
import { brokerToken } from './token/broker-token.ts'
import { createCodes } from './token/codes.ts'
import { delegationToken } from './token/delegation-token.ts'
import type { Dpop } from './token/dpop.ts'
import { createGrants } from './token/grants/index.ts'
import { introspect } from './token/introspect.ts'
import { revoke } from './token/revoke.ts'
import { token } from './token/token.ts'
import { userinfo } from './token/userinfo.ts'
import { permission } from './uma/permission.ts'
import { permissionTicket } from './uma/permission-ticket.ts'
import { resourceSet } from './uma/resource-set.ts'
import { umaConfiguration } from './uma/uma-configuration.ts'
import { umaPolicy } from './uma/uma-policy.ts'

export interface EndpointNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly secrets: Pick<Secrets, 'vault' | 'keyFor'>
  readonly outgoing: Outgoing
  readonly recorder: Recorder
  readonly metrics: Metrics
  readonly jobs: Jobs
  readonly messaging: Pick<Messaging, 'ready'>
  readonly keys: Pick<KeysArea, 'realmKeys' | 'signingKeys'>
  readonly users: Pick<UsersArea, 'store' | 'post' | 'links' | 'ranks'>
  readonly credentials: Pick<CredentialsArea, 'authenticator' | 'devices'>
  readonly sessions: Sessions
  readonly tokens: TokensArea
  readonly authz: AuthzArea
  readonly http: Pick<HttpArea, 'pages' | 'mapError' | 'slowRefusal'>
  readonly signIn: Pick<SignInArea, 'browser' | 'directLack'>
  /** The service providers of a session, which are notified in the browser too. */
  readonly beginSamlLogout: BeginSamlLogout
  readonly broker: Pick<
    BrokerArea,
    'leaveUpstream' | 'tripCookie' | 'providers' | 'refresh' | 'idJag'
  >
  /** Clients that are not configured, and what the metadata says of them. */
  readonly provisioning: {
    readonly metadataOf: (issuer: Issuer) => Promise<Metadata>
    readonly findClient: FindClient
    readonly clientUsed: (client: TokenClient) => Promise<void>
  }
}

/** Made once for all endpoints, and for the areas above. */
interface Shared {
  readonly consents: Consents
  readonly delegations: Delegations
  readonly confirmations: Confirmations
  readonly dpop: Dpop
  readonly preflights: Preflights
  readonly userPages: UserPages
  readonly trip: AuthorizeTrip
  readonly cibaRequests: CibaRequests
  readonly cibaDecisions: Decisions
  readonly framesOf: FramesOf
  readonly refusals: Pick<Refusals, 'record'>
}

/** What several endpoints use, made once. */
const createTools = (needs: EndpointNeeds, shared: Shared) => {
  const { storage, clock, outgoing, recorder, metrics, sessions } = needs
  const { mint, verifier, grantsStore, agents } = needs.tokens
  const { mapError, slowRefusal } = needs.http
  const { findClient, clientUsed } = needs.provisioning
  const pages = needs.http.pages.with(oidcPages)
  const codes = createCodes({ storage, clock, grantsStore })
  const deviceRequests = createDeviceRequests({ storage, clock, grantsStore })
  const clientKeys = createClientKeys({ outgoing, clock })
  const responseModes = createResponseModes({ pages, mint, clock })
  const { grants, delegate } = createGrants({
    clock,
    recorder,
    metrics,
    tokens: needs.tokens,
    sessions,
    authenticator: needs.credentials.authenticator,
    directLack: needs.signIn.directLack,
    codes,
    consents: shared.consents,
    delegations: shared.delegations,
    confirm: createConfirm({ clock, confirmations: shared.confirmations }),
    deviceRequests,
    cibaRequests: shared.cibaRequests,
    authz: needs.authz,
    users: needs.users,
    broker: needs.broker,
  })
  const clientAuthMethods = createClientAuthMethods({
    storage,
    clock,
    vault: needs.secrets.vault,
    grantsStore,
    clientKeys,
  })
  return {
    pages,
    codes,
    deviceRequests,
    clientKeys,
    responseModes,
    grants,
    delegate,
    clientAuthMethods,
    recordRefusal: createRecordRefusal({ recorder, refusals: shared.refusals, mapError }),
    authenticateClient: createAuthenticateClient({
      methods: clientAuthMethods,
      refusals: shared.refusals,
      agents,
      findClient,
      clientUsed,
      slowRefusal,
    }),
    rules: createAuthorizeRules({
      storage,
      clock,
      grantsStore,
      verifier,
      agents,
      clientKeys,
      findClient,
      responseModes,
      mapError,
    }),
  }
}

type Tools = ReturnType<typeof createTools>

/** Requests that a user answers in the browser (RFC 6749 §4.1, RFC 9126). */
const authorizeEndpoints = (needs: EndpointNeeds, shared: Shared, tools: Tools): Endpoint[] => {
  const { storage, clock, recorder, sessions } = needs
  const { issuers, mint, agents } = needs.tokens
  const { consents, delegations, trip, preflights, dpop } = shared
  const { pages, codes, responseModes, rules, recordRefusal, authenticateClient } = tools
  return [
    authorize(
      {
        issuers,
        recorder,
        sessions,
        pages,
        trip,
        consents,
        delegations,
        agents,
        codes,
        interaction: createInteraction({ storage, clock, mint, consents, agents }),
        responseModes,
        mapError: needs.http.mapError,
      },
      rules,
    ),
    par({ issuers, recorder, recordRefusal, authenticateClient, preflights, dpop }, rules),
  ]
}

const tokenEndpoints = (needs: EndpointNeeds, shared: Shared, tools: Tools): Endpoint[] => {
  const { clock, recorder, metrics } = needs
  const { issuers, mint, verifier, agents } = needs.tokens
  const { preflights, dpop, userPages, confirmations } = shared
  const { pages, grants, delegate, recordRefusal, authenticateClient } = tools
  return [
    token({
      clock,
      issuers,
      mint,
      recorder,
      metrics,
      agents,
      grants,
      recordRefusal,
      authenticateClient,
      preflights,
      dpop,
    }),
    delegationToken({
      clock,
      issuers,
      verifier,
      mint,
      recorder,
      metrics,
      agents,
      grant: delegate,
      recordRefusal,
      authenticateClient,
      dpop,
    }),
    delegationConfirm({ clock, recorder, pages, userPages, confirmations }),
  ]
}

/** Requests that a user answers on another device (RFC 8628, CIBA). */
const decoupledEndpoints = (needs: EndpointNeeds, shared: Shared, tools: Tools): Endpoint[] => {
  const { storage, clock, recorder, jobs, messaging, sessions } = needs
  const { issuers, mint, verifier, grantsStore, agents } = needs.tokens
  const { store: users, post } = needs.users
  const { devices } = needs.credentials
  const { preflights, userPages, cibaRequests, cibaDecisions } = shared
  const { pages, deviceRequests, clientKeys, recordRefusal, authenticateClient } = tools
  return [
    deviceAuthorization({
      issuers,
      clock,
      recorder,
      pages,
      userPages,
      requests: deviceRequests,
      recordRefusal,
      authenticateClient,
      preflights,
      agents,
    }),
    backchannelAuthentication({
      storage,
      clock,
      issuers,
      verifier,
      mint,
      users,
      sessions,
      jobs,
      post,
      pages,
      userPages,
      requests: cibaRequests,
      decisions: cibaDecisions,
      messageFor: createCibaMessage({ devices, messaging, post }),
      parametersOf: createSignedAuthentication({ storage, clock, grantsStore, clientKeys }),
      recordRefusal,
      authenticateClient,
      agents,
    }),
  ]
}

/** About the user of a token or of a browser. */
const userEndpoints = (needs: EndpointNeeds, shared: Shared, { pages }: Tools): Endpoint[] => {
  const { storage, clock, recorder, jobs, sessions, broker, beginSamlLogout } = needs
  const { issuers, mint, verifier, grantsStore } = needs.tokens
  const { dpop, preflights, framesOf } = shared
  return [
    userinfo({ issuers, grantsStore, mint, verifier, dpop, preflights }),
    brokerToken({
      issuers,
      storage,
      clock,
      recorder,
      broker,
      links: needs.users.links,
      verifier,
      dpop,
      preflights,
    }),
    logout({
      clock,
      issuers,
      verifier,
      sessions,
      storage,
      recorder,
      browser: needs.signIn.browser,
      pages,
      mapError: needs.http.mapError,
      jobs,
      beginSamlLogout,
      framesOf,
      broker,
    }),
  ]
}

/** The protection API of resource servers (UMA 2.0 Federated Authorization). */
const umaEndpoints = (needs: EndpointNeeds, { dpop }: Shared): Endpoint[] => {
  const { storage, recorder, authz } = needs
  const { issuers, verifier } = needs.tokens
  const { store: users } = needs.users
  return [
    resourceSet({ issuers, authz, users, verifier, dpop }),
    permission({ issuers, recorder, authz, verifier, dpop }),
    permissionTicket({ issuers, storage, recorder, authz, users, verifier, dpop }),
    umaPolicy({ issuers, recorder, authz, users, verifier, dpop }),
  ]
}

export const createEndpoints = (needs: EndpointNeeds, shared: Shared): readonly Endpoint[] => {
  const { clock, recorder } = needs
  const { issuers, subjects, verifier, grantsStore } = needs.tokens
  const { realmKeys, signingKeys } = needs.keys
  const { preflights } = shared
  const tools = createTools(needs, shared)
  const { grants, clientAuthMethods, responseModes, authenticateClient } = tools
  const lists = (): Lists => ({
    endpoints,
    grants,
    clientAuthMethods,
    responseModes,
    locales: tools.pages.locales,
    furtherMetadata: needs.provisioning.metadataOf,
  })
  const endpoints: readonly Endpoint[] = [
    discovery({ issuers }, lists),
    jwks({ issuers, realmKeys, signingKeys, clock }),
    ...authorizeEndpoints(needs, shared, tools),
    ...tokenEndpoints(needs, shared, tools),
    ...decoupledEndpoints(needs, shared, tools),
    ...userEndpoints(needs, shared, tools),
    introspect({
      issuers,
      verifier,
      grantsStore,
      clock,
      recorder,
      subjects,
      authenticateClient,
    }),
    revoke({ issuers, verifier, grantsStore, recorder, authenticateClient, preflights }),
    protectedResource({ issuers }),
    umaConfiguration({ issuers }, lists),
    ...umaEndpoints(needs, shared),
  ]
  return endpoints
}
