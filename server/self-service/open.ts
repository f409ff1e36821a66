/** Opens self-service: what users do about themselves, and what their devices do for them, as JSON and as pages. */

import type { FastifyPluginAsync } from 'fastify'
import type { AuditArea } from '#server/audit/open.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { CredentialsArea } from '#server/credentials/open.ts'
import type { HttpArea } from '#server/http/open.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { createAccountCaller } from '#server/oidc/account-caller.ts'
import { createRevokeConsent } from '#server/oidc/consent/revoke-consent.ts'
import { delegationRecord } from '#server/oidc/delegation/delegations.ts'
import type { OidcArea } from '#server/oidc/open.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { AgentsArea } from '#server/provisioning/agents/open.ts'
import type { ScimInArea } from '#server/provisioning/scim/in/open.ts'
import type { ScimOutArea } from '#server/provisioning/scim/out/open.ts'
import type { SignalsArea } from '#server/provisioning/signals/open.ts'
import type { RealmArea } from '#server/realm/open.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { SignInArea } from '#server/sign-in/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import { createLiveScopes } from '#server/tokens/grants/live-scopes.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import type { UsersArea } from '#server/users/open.ts'
import { createDataExport } from '#server/users/privacy/data-export.ts'
import { accountRoutes } from './account-routes.ts'
import { createOwnAgents, ownedRecords } from './agents.ts'
import { deviceApprovals } from './approvals/device-approvals.ts'
import { signInApprovals } from './approvals/sign-in-approvals.ts'
import { createCredentials } from './credentials/credentials.ts'
import { deviceEnrolment } from './credentials/device-enrolment.ts'
import { createEnrolments } from './credentials/enrolments.ts'
import { createChangePassword } from './credentials/password.ts'
import { createOwnData } from './data.ts'
import { createJsonErrors } from './errors.ts'
import { createOwnIdentities } from './identities.ts'
import type { OwnAccount } from './own-account.ts'
import { selfServicePages } from './pages/definitions.ts'
import { createAccountPages } from './pages/index.ts'
import { createChangeProfile } from './profile/profile.ts'
import { restoreAddress } from './profile/restore-address.ts'
import { createOwnSessions } from './sessions.ts'
import { createOwnSharing, sharesIn } from './sharing.ts'
import { transactionRoutes } from './transactions/transactions.ts'

export interface SelfServiceNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly keyring: Keyring
  readonly audit: Pick<AuditArea, 'recorder' | 'readRecords' | 'personalKeys'>
  readonly jobs: Jobs
  readonly users: UsersArea
  readonly credentials: CredentialsArea
  readonly sessions: Sessions
  readonly tokens: TokensArea
  readonly authz: Pick<AuthzArea, 'shares' | 'ownerPolicies'>
  readonly realm: Pick<RealmArea, 'lastAdmin' | 'settingsOf'>
  readonly http: HttpArea
  readonly signIn: Pick<SignInArea, 'browser' | 'brokers'>
  readonly oidc: OidcArea
  readonly agents: AgentsArea
  readonly scimIn: Pick<ScimInArea, 'sendersOf'>
  readonly scimOut: Pick<ScimOutArea, 'accountsOf'>
  readonly signals: Pick<SignalsArea, 'forgetPerson'>
}

const createOwnAccount = (needs: SelfServiceNeeds) => {
  const { storage, clock, keyring, audit, jobs, sessions, realm, oidc } = needs
  const { store: users, links, ranks, addressNotice, erasureRequests } = needs.users
  const { factors, passwords, passkeys, authenticator } = needs.credentials
  const { grantsStore } = needs.tokens
  const { recorder, readRecords, personalKeys } = audit
  const { consents, delegations, confirmations } = oidc
  const { lifecycle, review } = needs.agents
  const exportData = createDataExport({
    storage,
    clock,
    links,
    readRecords,
    accountsOf: async (view, userId) => [
      ...(await needs.scimIn.sendersOf(userId)),
      ...(await needs.scimOut.accountsOf(view, userId)),
    ],
    consentsOf: async (view, userId) => [
      ...(await consents.list(view.realm, userId)),
      ...(await delegations.list(view.realm, userId)).map(delegationRecord),
      ...ownedRecords(await review.agentsIn(view), userId),
      ...(await sharesIn(needs.authz, view.realm, userId)),
    ],
  })
  const own: OwnAccount = {
    changeProfile: createChangeProfile({ users, recorder, clock, factors, ranks, addressNotice }),
    changePassword: createChangePassword({
      authenticator,
      passwords,
      factors,
      ranks,
      sessions,
      recorder,
      clock,
      jobs,
      users,
    }),
    credentials: createCredentials({ storage, recorder, factors, ranks, clock, users }),
    enrolments: createEnrolments({
      storage,
      clock,
      keyring,
      passkeys,
      recorder,
      factors,
      ranks,
      grantsStore,
      authenticator,
      users,
    }),
    sessions: createOwnSessions({ sessions, recorder, jobs }),
    identities: createOwnIdentities({
      links: needs.users.links,
      providers: needs.signIn.brokers.providers,
      users,
      factors,
      ranks,
      recorder,
      clock,
    }),
    consents,
    revokeConsent: createRevokeConsent({ consents, recorder }),
    sharing: createOwnSharing({
      storage,
      shares: needs.authz.shares,
      ownerPolicies: needs.authz.ownerPolicies,
      users,
      recorder,
    }),
    agents: createOwnAgents({
      delegations,
      confirmations,
      consents,
      lifecycle,
      review,
      recorder,
      clock,
      liveScopes: createLiveScopes(storage),
    }),
    data: createOwnData({
      exportData,
      erasureRequests,
      personalKeys,
      forgetFollowed: needs.signals.forgetPerson,
      storage,
      sessions,
      users,
      recorder,
      authenticator,
      factors,
      clock,
      jobs,
      lastAdmin: realm.lastAdmin,
      ranks,
    }),
  }
  return { own, exportData }
}

export const openSelfService = (needs: SelfServiceNeeds) => {
  const { storage, clock, jobs, sessions, http } = needs
  const { browser } = needs.signIn
  const { recorder } = needs.audit
  const { store: users, ranks, addressNotice, addressUndos } = needs.users
  const { devices, factors, passkeys, transactions, approvals, authenticator } = needs.credentials
  const { issuers, verifier, subjects } = needs.tokens
  const { settingsOf } = needs.realm
  const { mapError } = http
  const pages = http.pages.with(selfServicePages)
  const { dpop, preflights, userPages, cibaRequests, cibaDecisions } = needs.oidc
  const { own, exportData } = createOwnAccount(needs)
  const callerOf = createAccountCaller({ verifier, dpop, sessions, users, browser })
  const accountPages = createAccountPages({
    storage,
    pages,
    userPages,
    browser,
    factors,
    own,
    linking: needs.signIn.brokers.linking,
  })

  const routes: FastifyPluginAsync = async (app) => {
    app.setErrorHandler(createJsonErrors(mapError))
    deviceEnrolment({
      issuers,
      callerOf,
      recorder,
      devices,
      factors,
      ranks,
      users,
      authenticator,
      storage,
      clock,
      preflights,
    })(app)
    deviceApprovals({
      issuers,
      clock,
      requests: cibaRequests,
      decisions: cibaDecisions,
      recorder,
      jobs,
      users,
      devices,
      sessions,
    })(app)
    transactionRoutes({
      issuers,
      verifier,
      dpop,
      subjects,
      recorder,
      users,
      devices,
      passkeys,
      transactions,
      preflights,
    })(app)
    app.register(
      signInApprovals({
        issuers,
        sessions,
        approvals,
        recorder,
        browser,
        pages,
        userPages,
        mapError,
      }),
    )
    app.register(
      restoreAddress({
        issuers,
        storage,
        users,
        sessions,
        links: needs.users.links,
        recorder,
        jobs,
        clock,
        browser,
        addressNotice,
        addressUndos,
        ranks,
        pages,
        settingsOf,
        mapError,
      }),
    )
    app.register(
      accountRoutes({ issuers, preflights, callerOf, own, pages: accountPages, mapError }),
    )
  }

  return {
    /** Everything that is held about a user, for the user and for administrators. */
    exportData,
    routes,
  }
}

export type SelfServiceArea = ReturnType<typeof openSelfService>
