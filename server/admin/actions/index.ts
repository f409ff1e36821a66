/** THE list of actions: every route of the admin API that is written rather than declared. */

import type { Config } from '#server/config/index.ts'
import type { Realms } from '#server/resources/realms.ts'
import type { Action } from '../action.ts'
import { listAdminRoles, listPermissions, setAdminRole } from './admin-roles.ts'
import { attachmentActions } from './attachments.ts'
import { type AuditConfigParts, auditConfigActions } from './audit-config.ts'
import { applyChangeset, type ChangesetActionParts } from './changesets.ts'
import { clientFieldActions } from './client-fields.ts'
import {
  type ClientSecretParts,
  readClientSecret,
  regenerateClientSecret,
} from './client-secret.ts'
import { type CompareParts, compareAction } from './compare.ts'
import { type ConsentParts, listConsents } from './consents.ts'
import { createUser } from './create-user.ts'
import { credentialActions } from './credentials.ts'
import { type DataSubjectParts, dataSubjectActions } from './data-subject.ts'
import { setDefaultRole } from './default-role.ts'
import { deleteUser } from './delete-user.ts'
import { exportAction } from './export.ts'
import { type FlowParts, flowActions } from './flows.ts'
import { type ImpersonateParts, impersonate } from './impersonate.ts'
import { importAction } from './import.ts'
import { importUsers } from './import-users.ts'
import { type InvitationParts, invitationActions } from './invitations.ts'
import { type KeyParts, keyActions } from './keys.ts'
import { type EventParts, listEvents } from './list-events.ts'
import { listUsers } from './list-users.ts'
import { membershipActions } from './memberships.ts'
import { type MessagingPreviewParts, previewMessage } from './messaging-preview.ts'
import { type MessagingTestParts, testMessaging } from './messaging-test.ts'
import { readMetricsSummary, type SummaryParts } from './metrics-summary.ts'
import { setNotBefore } from './not-before.ts'
import { provisioningTokenActions } from './provisioning-tokens.ts'
import { type PushTokenParts, pushTokenActions } from './push-tokens.ts'
import { readUser } from './read-user.ts'
import { readEndpoints, readRealmHealth } from './realm-status.ts'
import { createRealm, deleteRealm, listRealms, readRealm, readRealmDefaults } from './realms.ts'
import { replaceUser } from './replace-user.ts'
import { requiredActionActions } from './required-actions.ts'
import { type RevisionParts, revisionActions } from './revisions.ts'
import { rollbackAction } from './rollback.ts'
import { type SessionParts, sessionActions } from './sessions.ts'
import { setUserPassword } from './set-user-password.ts'
import { type StreamEventsParts, streamEvents } from './stream-events.ts'
import { assignUserRole, listUserRoles, unassignUserRole } from './user-roles.ts'
import type { UserParts } from './users.ts'
import { type VerifyEventsParts, verifyEvents } from './verify-events.ts'
import { type WebhookActionParts, webhookActions } from './webhooks.ts'
import { whoami } from './whoami.ts'

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
