/** Opens sign-in: the flow with its lists of authenticators, conditions and required actions, and its pages. */

import type { FastifyPluginAsync } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { BrokerArea } from '#server/broker/open.ts'
import type { CredentialsArea } from '#server/credentials/open.ts'
import type { HttpArea } from '#server/http/open.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { RealmArea } from '#server/realm/open.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import type { UsersArea } from '#server/users/open.ts'
import { createRequiredActions } from './actions/index.ts'
import { createAuthenticators } from './authenticators/index.ts'
import { openSignInBrokers, type SignInBrokers } from './brokers/open.ts'
import { brokerRoutes } from './brokers/routes.ts'
import { createSentAway } from './brokers/sent-away.ts'
import { createConditions } from './conditions/index.ts'
import { createDirectLack } from './flow/direct-grant.ts'
import { createEngine } from './flow/engine.ts'
import { createQuestions } from './flow/questions.ts'
import { createSignIns } from './flow/sign-ins.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { createKnownDevices } from './known-devices.ts'
import { createAdministrators } from './messages/administrators.ts'
import { createProvedReader } from './messages/mail-proof.ts'
import { createOpenedInvitations } from './opened-invitations.ts'
import { createBrowser } from './pages/browser.ts'
import { type SignInPages, signInPages } from './pages/definitions/index.ts'
import type { FindPending } from './pages/pending.ts'
import { loginRoutes } from './pages/routes.ts'
import { createVisits } from './pages/visit.ts'
import { createSignInOrganizations } from './sign-in-organizations.ts'
import { createRoundTrip, type Protocol } from './waiting/round-trip.ts'
import { createWaitingRequests } from './waiting/waiting-requests.ts'

export interface SignInNeeds {
  readonly storage: Storage
  readonly copy: Pick<Copy, 'fresh'>
  readonly clock: Clock
  readonly keyring: Keyring
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'login' | 'mfaChallenge'>
  readonly messaging: Pick<Messaging, 'ready'>
  readonly users: Pick<
    UsersArea,
    'store' | 'ranks' | 'invitations' | 'addressNotice' | 'addressUndos' | 'links'
  > & {
    readonly post: Pick<UsersArea['post'], 'statements' | 'wake'>
  }
  readonly credentials: Omit<CredentialsArea, 'transactions'>
  readonly sessions: Sessions
  readonly tokens: { readonly issuers: Pick<Issuers, 'of'> }
  readonly broker: BrokerArea
  readonly realm: Pick<RealmArea, 'settingsOf'>
  readonly http: HttpArea
  readonly baseUrl: string
  /** The name of the realm that stays open when it is disabled. */
  readonly master: string
}

const createSignInFlow = (needs: SignInNeeds, pages: SignInPages, brokers: SignInBrokers) => {
  const { storage, clock, keyring, recorder, metrics, messaging, users, credentials } = needs
  const { sessions, baseUrl } = needs
  const { cookies } = needs.http
  const { post } = users
  const { factors, authenticator, bruteForce } = credentials
  const administrators = createAdministrators({ ranks: users.ranks, factors })
  const organizations = createSignInOrganizations({ storage, clock })
  const knownDevices = createKnownDevices({ storage, clock, cookies, messaging, post, baseUrl })
  const signIns = createSignIns({ storage, clock })
  const lists = {
    clock,
    users: users.store,
    steps: createAuthenticators({
      pages,
      storage,
      clock,
      keyring,
      messaging,
      users,
      credentials,
      sessions,
      administrators,
      organizations,
      brokers,
      baseUrl,
    }),
    conditions: createConditions({ storage, factors, knownDevices, administrators }),
    actions: createRequiredActions({
      pages,
      storage,
      clock,
      keyring,
      messaging,
      users,
      credentials,
      sessions,
    }),
    hasFactor: factors.hasFactor,
    administrators,
    vouching: brokers.vouching,
  }
  const questions = createQuestions(lists)
  const { steps } = lists
  const engine = createEngine({
    questions,
    steps,
    recorder,
    sessions,
    authenticator,
    bruteForce,
    signIns,
    knownDevices,
    organizations,
    vouching: brokers.vouching,
    provedReader: createProvedReader({
      storage,
      clock,
      sessions,
      users: users.store,
      links: users.links,
      addressUndos: users.addressUndos,
    }),
    onLogin: metrics.login,
    onChallenge: metrics.mfaChallenge,
  })
  return { engine, signIns, directLack: createDirectLack(questions, steps) }
}

export const openSignIn = (needs: SignInNeeds) => {
  const { storage, copy, clock, recorder, metrics, users, sessions, master } = needs
  const { settingsOf } = needs.realm
  const { cookies, csrf, mapError } = needs.http
  const pages = needs.http.pages.with(signInPages)
  const browser = createBrowser(cookies, csrf)
  const invitations = createOpenedInvitations({ invitations: users.invitations, copy, cookies })
  const visits = createVisits({ browser, sessions, master, copy })
  const { keyring, messaging, broker } = needs
  const brokers = openSignInBrokers({
    storage,
    clock,
    keyring,
    recorder,
    messaging,
    users,
    sessions,
    broker,
    pages,
    onLogin: metrics.login,
  })
  const { engine, signIns, directLack } = createSignInFlow(needs, pages, brokers)
  return {
    browser,
    invitations,
    signIns,
    /** The identity providers that users may link, and the way there. */
    brokers: { providers: brokers.providers, linking: brokers.linking },
    /** What a password grant would have to prove beside the password. */
    directLack,
    /** Sends the browsers of a protocol through the sign-in and back. */
    roundTrip: <Client extends { readonly id: string }, Request>(
      protocol: Protocol<Client, Request>,
    ) =>
      createRoundTrip(
        {
          recorder,
          sessions,
          browser,
          pages,
          waitingRequests: createWaitingRequests<Request>(
            { storage, clock, cookies },
            protocol.name,
          ),
        },
        protocol,
      ),
    /** `findPending` tells what waits for a sign-in: protocols above know. */
    routes:
      (findPending?: FindPending): FastifyPluginAsync =>
      async (app) => {
        app.register(
          loginRoutes({
            browser,
            visits,
            sessions,
            settingsOf,
            pages,
            mapError,
            recorder,
            engine,
            signIns,
            users: users.store,
            findPending,
            sentAway: createSentAway({ engine, providers: brokers.providers }),
            onLogin: metrics.login,
          }),
        )
        app.register(
          brokerRoutes({
            browser,
            visits,
            settingsOf,
            pages,
            mapError,
            engine,
            signIns,
            findPending,
            issuers: needs.tokens.issuers,
            recorder,
            broker,
            providers: brokers.providers,
            arrivals: brokers.arrivals,
            departures: brokers.departures,
            refusals: brokers.refusals,
            linking: brokers.linking,
          }),
        )
        app.register(
          invitationRoutes({
            browser,
            opened: invitations,
            invitations: users.invitations,
            visits,
            sessions,
            settingsOf,
            pages,
            mapError,
            users: users.store,
            recorder,
            clock,
          }),
        )
      },
  }
}

export type SignInArea = ReturnType<typeof openSignIn>
