/** THE list of actions: every route of the admin API that is written rather than declared. */

import type { AuditArea } from '#server/audit/open.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { BrokerArea } from '#server/broker/open.ts'
import type { CredentialsArea } from '#server/credentials/open.ts'
import type { DirectoriesArea } from '#server/directories/open.ts'
import type { Synchronize } from '#server/directories/sync/sync.ts'
import type { HttpArea } from '#server/http/open.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { KeysArea } from '#server/keys/open.ts'
import type { Secrets } from '#server/keys/secrets.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { OidcArea } from '#server/oidc/open.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { PlatformArea } from '#server/platform/open.ts'
import type { AgentsArea } from '#server/provisioning/agents/open.ts'
import type { SignalsArea } from '#server/provisioning/signals/open.ts'
import type { RealmArea } from '#server/realm/open.ts'
import type { SamlArea } from '#server/saml/open.ts'
import type { SelfServiceArea } from '#server/self-service/open.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { UsersArea } from '#server/users/open.ts'
import type { WebhooksArea } from '#server/webhooks/open.ts'
import type { Action } from './action.ts'
import { agentActions } from './agents/agents.ts'
import { attachmentActions } from './clients/attachments.ts'
import { authzShareActions } from './clients/authz-shares.ts'
import { clientFieldActions } from './clients/client-fields.ts'
import { readClientSecret, regenerateClientSecret } from './clients/client-secret.ts'
import { evaluateAuthz } from './clients/evaluate-authz.ts'
import { ownerPolicyActions } from './clients/owner-policies.ts'
import { provisioningTokenActions } from './clients/provisioning-tokens.ts'
import { credentialActions } from './credentials/credentials.ts'
import { pushTokenActions } from './credentials/push-tokens.ts'
import { auditConfigActions } from './events/audit-config.ts'
import { listEvents } from './events/list-events.ts'
import { readMetricsSummary } from './events/metrics-summary.ts'
import { streamEvents } from './events/stream-events.ts'
import { verifyEvents } from './events/verify-events.ts'
import { webhookActions } from './events/webhooks.ts'
import { checkProvider } from './federation/check-provider.ts'
import { readDirectorySync } from './federation/read-directory-sync.ts'
import { syncDirectory } from './federation/sync-directory.ts'
import { previewMessage } from './messaging/messaging-preview.ts'
import { testMessaging } from './messaging/messaging-test.ts'
import { invitationActions } from './organizations/invitations.ts'
import { membershipActions } from './organizations/memberships.ts'
import { applyChangeset } from './realms/changesets.ts'
import { compareAction } from './realms/compare.ts'
import { exportAction } from './realms/export.ts'
import { flowActions } from './realms/flows.ts'
import { importAction } from './realms/import.ts'
import { keyActions } from './realms/keys.ts'
import { readEndpoints, readRealmHealth } from './realms/realm-status.ts'
import {
  createRealm,
  deleteRealm,
  listRealms,
  readRealm,
  readRealmDefaults,
} from './realms/realms.ts'
import { revisionActions } from './realms/revisions.ts'
import { rollbackAction } from './realms/rollback.ts'
import { listAdminRoles, listPermissions, setAdminRole } from './roles/admin-roles.ts'
import { setDefaultRole } from './roles/default-role.ts'
import { importMetadataActions } from './saml-clients/import-metadata.ts'
import { samlStatus } from './saml-clients/saml-status.ts'
import { type ScimTargetActionParts, scimTargetActions } from './scim-targets/scim-targets.ts'
import { setNotBefore } from './sessions/not-before.ts'
import { sessionActions } from './sessions/sessions.ts'
import { whoami } from './sessions/whoami.ts'
import { listConsents } from './users/consents.ts'
import { createUser } from './users/create-user.ts'
import { dataSubjectActions } from './users/data-subject.ts'
import { deleteUser } from './users/delete-user.ts'
import { impersonate } from './users/impersonate.ts'
import { importUsers } from './users/import/import-users.ts'
import { linkedIdentityActions } from './users/linked-identities.ts'
import { listUsers } from './users/list-users.ts'
import { readUser } from './users/read-user.ts'
import { replaceUser } from './users/replace-user.ts'
import { requiredActionActions } from './users/required-actions.ts'
import { setUserPassword } from './users/set-user-password.ts'
import { assignUserRole, listUserRoles, unassignUserRole } from './users/user-roles.ts'
import type { UserParts } from './users/users.ts'

export interface ActionNeeds {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly secrets: Pick<Secrets, 'keyring' | 'vault'>
  readonly platform: Pick<PlatformArea, 'outgoing' | 'siblings'>
  readonly jobs: Jobs
  readonly audit: AuditArea
  readonly keys: Pick<KeysArea, 'signingKeys' | 'policies'>
  readonly messaging: Messaging
  readonly users: UsersArea
  readonly credentials: Pick<CredentialsArea, 'passwords' | 'bruteForce'>
  readonly sessions: Sessions
  readonly realm: RealmArea
  readonly authz: AuthzArea
  readonly webhooks: Pick<WebhooksArea, 'send'>
  readonly http: Pick<HttpArea, 'cookies'>
  readonly broker: Pick<BrokerArea, 'providers' | 'check'>
  readonly oidc: Pick<OidcArea, 'consents'>
  readonly saml: Pick<SamlArea, 'keyUses' | 'metadataReads'>
  readonly selfService: Pick<SelfServiceArea, 'exportData'>
  readonly directories: Pick<DirectoriesArea, 'check' | 'syncStandingOf'>
  readonly syncDirectory: Synchronize
  readonly scimOut: ScimTargetActionParts['scimOut']
  readonly signals: Pick<SignalsArea, 'forgetPerson'>
  readonly agents: AgentsArea
  readonly baseUrl: string
}

export const createActions = (needs: ActionNeeds): readonly Action[] => {
  const { storage, copy, clock, jobs, messaging, sessions, baseUrl } = needs
  const { keyring, vault } = needs.secrets
  const { outgoing, siblings } = needs.platform
  const { recorder, readRecords, totals, emission, forwarder, personalKeys } = needs.audit
  const { signingKeys, policies: keyPolicies } = needs.keys
  const { store: users, ranks, addressNotice, erasedPeople, erasureRequests } = needs.users
  const { invitations, post, messageLimits } = needs.users
  const { passwords, bruteForce } = needs.credentials
  const { writer, realms, changesets, presenter, lastAdmin, settingsOf } = needs.realm
  const { refuseUnlessOutranked } = needs.realm
  const { lifecycle, review } = needs.agents
  const user: UserParts = {
    storage,
    recorder,
    writer,
    users,
    passwords,
    ranks,
    addressNotice,
    lastAdmin,
    sessions,
    bruteForce,
    clock,
  }
  const clientSecret = { storage, recorder, writer, vault, clock, refuseUnlessOutranked }
  return [
    listRealms(realms),
    createRealm(realms),
    readRealm(realms),
    deleteRealm(realms),
    readRealmDefaults(),
    exportAction(storage),
    applyChangeset({ changesets, realms }),
    compareAction({ storage, vault, recorder, clock, refuseUnlessOutranked }),
    ...revisionActions({ storage, vault }),
    rollbackAction({ storage, writer, clock }),
    importAction({ storage, writer, clock }),
    listAdminRoles(),
    listPermissions(),
    setAdminRole({ writer }),
    listUsers(user),
    createUser(user),
    readUser(user),
    replaceUser(user),
    deleteUser(user),
    listUserRoles(user),
    assignUserRole(user),
    unassignUserRole(user),
    setUserPassword(user),
    importUsers({ ...user, keyring }),
    ...credentialActions({ ...user, keyring }),
    ...requiredActionActions(user),
    ...linkedIdentityActions({ ...user, links: needs.users.links }),
    listConsents(user, needs.oidc.consents),
    ...dataSubjectActions({
      ...user,
      exportData: needs.selfService.exportData,
      erasedPeople,
      erasureRequests,
      personalKeys,
      forgetFollowed: needs.signals.forgetPerson,
    }),
    impersonate({ ...user, cookies: needs.http.cookies }),
    ...membershipActions(user),
    ...invitationActions({
      storage,
      recorder,
      clock,
      users,
      invitations,
      messaging,
      post,
      messageLimits,
      baseUrl,
    }),
    ...attachmentActions({ writer }),
    setDefaultRole({ writer }),
    readClientSecret(clientSecret),
    regenerateClientSecret(clientSecret),
    ...clientFieldActions({ writer }),
    evaluateAuthz({ authz: needs.authz, changesets, users }),
    ...authzShareActions({ storage, shares: needs.authz.shares, recorder }),
    ...ownerPolicyActions({ storage, ownerPolicies: needs.authz.ownerPolicies, recorder }),
    ...importMetadataActions({ writer, presenter, copy, clock, outgoing }),
    samlStatus({ storage, clock, saml: needs.saml }),
    checkProvider({ broker: needs.broker, directories: needs.directories, vault, baseUrl }),
    syncDirectory({ sync: needs.syncDirectory, vault }),
    readDirectorySync({ standingOf: needs.directories.syncStandingOf }),
    ...scimTargetActions({ scimOut: needs.scimOut, recorder }),
    ...agentActions({ lifecycle, review, presenter, refuseUnlessOutranked }),
    ...flowActions({ writer, presenter, copy }),
    ...keyActions({ storage, signingKeys, keyPolicies, clock, refuseUnlessOutranked }),
    ...provisioningTokenActions({ storage, recorder, clock, baseUrl }),
    ...pushTokenActions({ ...user, keyring }),
    testMessaging({ messaging, storage, recorder, keyring, messageLimits }),
    previewMessage({ messaging }),
    ...sessionActions({ sessions, recorder, settingsOf, jobs, storage }),
    setNotBefore({ storage, recorder, clock, ranks, users, refuseUnlessOutranked }),
    ...webhookActions({
      storage,
      recorder,
      writer,
      clock,
      jobs,
      sendDelivery: needs.webhooks.send,
    }),
    whoami(storage),
    readEndpoints(baseUrl),
    readRealmHealth(storage),
    listEvents({ storage, vault, totals, readRecords }),
    streamEvents({ storage, eventStreams: needs.audit.streams }),
    verifyEvents({ storage, checkChain: needs.audit.checkChain }),
    ...auditConfigActions({ emission, recorder, outgoing, forwarder }),
    readMetricsSummary({ storage, clock, siblings }),
  ]
}
