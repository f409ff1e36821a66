/** THE list of actions: every route of the admin API that is written rather than declared. */

import type { Config } from '#server/config/index.ts'
import type { Realms } from '#server/realm/realms.ts'
import type { Action } from './action.ts'
import { attachmentActions } from './clients/attachments.ts'
import { clientFieldActions } from './clients/client-fields.ts'
import {
  type ClientSecretParts,
  readClientSecret,
  regenerateClientSecret,
} from './clients/client-secret.ts'
import { provisioningTokenActions } from './clients/provisioning-tokens.ts'
import { credentialActions } from './credentials/credentials.ts'
import { type PushTokenParts, pushTokenActions } from './credentials/push-tokens.ts'
import { type AuditConfigParts, auditConfigActions } from './events/audit-config.ts'
import { type EventParts, listEvents } from './events/list-events.ts'
import { readMetricsSummary, type SummaryParts } from './events/metrics-summary.ts'
import { type StreamEventsParts, streamEvents } from './events/stream-events.ts'
import { type VerifyEventsParts, verifyEvents } from './events/verify-events.ts'
import { type WebhookActionParts, webhookActions } from './events/webhooks.ts'
import { type MessagingPreviewParts, previewMessage } from './messaging/messaging-preview.ts'
import { type MessagingTestParts, testMessaging } from './messaging/messaging-test.ts'
import { type InvitationParts, invitationActions } from './organizations/invitations.ts'
import { membershipActions } from './organizations/memberships.ts'
import { applyChangeset, type ChangesetActionParts } from './realms/changesets.ts'
import { type CompareParts, compareAction } from './realms/compare.ts'
import { exportAction } from './realms/export.ts'
import { type FlowParts, flowActions } from './realms/flows.ts'
import { importAction } from './realms/import.ts'
import { type KeyParts, keyActions } from './realms/keys.ts'
import { readEndpoints, readRealmHealth } from './realms/realm-status.ts'
import {
  createRealm,
  deleteRealm,
  listRealms,
  readRealm,
  readRealmDefaults,
} from './realms/realms.ts'
import { type RevisionParts, revisionActions } from './realms/revisions.ts'
import { rollbackAction } from './realms/rollback.ts'
import { listAdminRoles, listPermissions, setAdminRole } from './roles/admin-roles.ts'
import { setDefaultRole } from './roles/default-role.ts'
import { setNotBefore } from './sessions/not-before.ts'
import { type SessionParts, sessionActions } from './sessions/sessions.ts'
import { whoami } from './sessions/whoami.ts'
import { type ConsentParts, listConsents } from './users/consents.ts'
import { createUser } from './users/create-user.ts'
import { type DataSubjectParts, dataSubjectActions } from './users/data-subject.ts'
import { deleteUser } from './users/delete-user.ts'
import { type ImpersonateParts, impersonate } from './users/impersonate.ts'
import { importUsers } from './users/import/import-users.ts'
import { listUsers } from './users/list-users.ts'
import { readUser } from './users/read-user.ts'
import { replaceUser } from './users/replace-user.ts'
import { requiredActionActions } from './users/required-actions.ts'
import { setUserPassword } from './users/set-user-password.ts'
import { assignUserRole, listUserRoles, unassignUserRole } from './users/user-roles.ts'
import type { UserParts } from './users/users.ts'

export interface ActionParts
  extends UserParts,
    AuditConfigParts,
    ChangesetActionParts,
    SummaryParts,
    ClientSecretParts,
    CompareParts,
    ConsentParts,
    DataSubjectParts,
    ImpersonateParts,
    EventParts,
    FlowParts,
    InvitationParts,
    KeyParts,
    MessagingPreviewParts,
    MessagingTestParts,
    PushTokenParts,
    RevisionParts,
    SessionParts,
    StreamEventsParts,
    VerifyEventsParts,
    WebhookActionParts {
  readonly config: Pick<Config, 'http'>
  readonly realms: Realms
}

export const createActions = (parts: ActionParts): readonly Action[] => [
  listRealms(parts.realms),
  createRealm(parts.realms),
  readRealm(parts.realms),
  deleteRealm(parts.realms),
  readRealmDefaults(),
  exportAction(parts.storage),
  applyChangeset(parts),
  compareAction(parts),
  ...revisionActions(parts),
  rollbackAction(parts),
  importAction(parts),
  listAdminRoles(),
  listPermissions(),
  setAdminRole(parts),
  listUsers(parts),
  createUser(parts),
  readUser(parts),
  replaceUser(parts),
  deleteUser(parts),
  listUserRoles(parts),
  assignUserRole(parts),
  unassignUserRole(parts),
  setUserPassword(parts),
  importUsers(parts),
  ...credentialActions(parts),
  ...requiredActionActions(parts),
  listConsents(parts),
  ...dataSubjectActions(parts),
  impersonate(parts),
  ...membershipActions(parts),
  ...invitationActions(parts),
  ...attachmentActions(parts),
  setDefaultRole(parts),
  readClientSecret(parts),
  regenerateClientSecret(parts),
  ...clientFieldActions(parts),
  ...flowActions(parts),
  ...keyActions(parts),
  ...provisioningTokenActions(parts),
  ...pushTokenActions(parts),
  testMessaging(parts),
  previewMessage(parts),
  ...sessionActions(parts),
  setNotBefore(parts),
  ...webhookActions(parts),
  whoami(parts.storage),
  readEndpoints(parts.config.http.baseUrl),
  readRealmHealth(parts.storage),
  listEvents(parts),
  streamEvents(parts),
  verifyEvents(parts),
  ...auditConfigActions(parts),
  readMetricsSummary(parts),
]
