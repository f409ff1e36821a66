/**
 * The rows of every table, as Kysely sees them. Times are epoch milliseconds, flags are 0 or 1, JSON is text:
 * the same on both databases. `migrations/` makes the tables; this file only types them.
 */

import type { Generated } from 'kysely'
import type { Figure } from '#schemas/change-counts.ts'
import type * as agents from './agent-tables.ts'
import type {
  AuditBlockRow,
  AuditEmissionRow,
  AuditMarkRow,
  AuditTotalRow,
  PersonalKeyRow,
} from './audit-tables.ts'
import type * as authz from './authz-tables.ts'
import type * as broker from './broker-tables.ts'
import type {
  CredentialRow,
  LoginGuardRow,
  PasswordHistoryRow,
  PushTokenRow,
} from './credential-tables.ts'
import type * as directory from './directory-tables.ts'
import type { JobRow, OutboxCursorRow, WebhookSecretRow } from './job-tables.ts'
import type * as provisioning from './provisioning-tables.ts'
import type * as saml from './saml-tables.ts'
import type * as scimIn from './scim-in-tables.ts'
import type * as scim from './scim-tables.ts'
import type {
  AddressUndoRow,
  ApprovalRow,
  DeviceEnrolmentRow,
  ErasureRequestRow,
  InvitationRow,
  KnownDeviceRow,
  MessageLimitRow,
  SignInRow,
  TransactionRow,
} from './sign-in-tables.ts'
import type * as signal from './signal-tables.ts'
import type {
  AuthorizationCodeRow,
  AuthorizationRow,
  CibaRequestRow,
  ConsentRow,
  DeviceRequestRow,
  LogoutRequestRow,
  NotBeforeRow,
  PushedRequestRow,
  RefreshTokenRow,
  ReplayGuardRow,
  RevokedTokenRow,
  SessionClientRow,
  TokenGrantRow,
} from './token-tables.ts'

export type {
  CredentialRow,
  LoginGuardRow,
  PasswordHistoryRow,
  PushTokenRow,
} from './credential-tables.ts'

export type Origin = 'built-in' | 'declared' | 'manual' | 'runtime'

export interface MetaRow {
  name: string
  value: string
}

export interface RealmRow {
  name: string
  revision: number
  seq: number
  created_at: number
}

/** A configuration document. `body` is the compact canonical form without secrets; `sealed` holds those. */
export interface DocumentRow {
  id: string
  realm: string
  kind: string
  key: string
  parent_id: string | null
  origin: Origin
  owner: string | null
  version: number
  hash: string
  body: string
  /** JSON object: pointer -> sealed value or keyed hash. */
  sealed: string | null
  created_at: number
  updated_at: number
  /** Deletion is blocked through every channel. */
  protected: number
}

export interface DocumentRefRow {
  from_id: string
  path: string
  to_id: string
}

export interface RevisionRow {
  realm: string
  revision: number
  at: number
  actor: string
  /** The channel it came through: rest, changeset, import, bootstrap, rollback. */
  source: string
  message: string | null
  provenance: string | null
}

export interface RevisionOperationRow {
  realm: string
  revision: number
  n: number
  op: 'create' | 'update' | 'rename' | 'delete'
  kind: string
  document_id: string
  key: string
  /** How the summary of the revision counts it; null if it does not. */
  figure: Figure | null
  before: string | null
  after: string | null
}

export interface ChangeRow {
  realm: string
  seq: number
  kind: string
  key: string
}

export interface UserRow {
  id: string
  realm: string
  username: string
  username_key: string
  email: string | null
  email_key: string | null
  email_verified: number
  first_name: string | null
  last_name: string | null
  enabled: number
  /** Set by an administrator; a lock by failed attempts lives in `login_guards` and ends by itself. */
  locked: number
  managed: number
  attributes: string
  required_actions: string
  version: number
  created_at: number
  updated_at: number
}

/** Every name a user can sign in with, folded: the one place where usernames and emails collide. */
export interface UserNameRow {
  realm: string
  name: string
  user_id: string
}

export interface UserRoleRow {
  user_id: string
  role_id: string
  /** 1 for the role that every new user got when this one was made; the document of a managed user says nothing of it. */
  by_default: Generated<number>
}

export interface ErasedPersonRow {
  realm: string
  /** A keyed hash of it. */
  name: string
  erased_at: number
}

export interface UserGroupRow {
  user_id: string
  group_id: string
}

export interface SessionRow {
  /** SHA-256 of the cookie's value: a stolen database does not hold usable sessions. */
  id: string
  sid: string
  realm: string
  user_id: string
  created_at: number
  last_access: number
  expires_at: number
  remember_me: number
  ip: string
  user_agent: string | null
  /** JSON list of the methods by which the user signed in (RFC 8176). */
  amr: string
  /** The level that these methods reach. */
  acr: string
  /** The administrator who acts as the user. */
  impersonator: string | null
  /** The organization that was chosen at sign-in. */
  organization_id: string | null
}

export interface SigningKeyRow {
  id: string
  realm: string
  /** The client that signs with it; null where the realm does. */
  client_id: string | null
  algorithm: string
  /** NEXT is published already and signs after the next rotation. */
  status: 'ACTIVE' | 'NEXT' | 'PASSIVE'
  public_key: string
  certificate: string
  /** JSON of a sealed value. */
  private_key: string
  created_at: number
  rotated_at: number | null
}

export interface AuditEventRow {
  id: Generated<number>
  event_id: string
  realm: string
  at: number
  category: string
  type: string
  actor: string
  /** The user whom the actor impersonated. */
  on_behalf_of?: string | null
  /** Empty where it is sealed. */
  source_ip: string
  resource_type: string | null
  resource_id: string | null
  outcome: string
  detail: string | null
  revision: number | null
  /** JSON of what is personal, each value under the key of its person. */
  sealed?: string | null
}

export interface OrganizationMemberRow {
  user_id: string
  organization_id: string
  joined_at: number
}

export interface ClientSecretRow {
  client_id: string
  realm: string
  created_at: number
  /** JSON of the secret before, as it was stored. */
  previous: string | null
  previous_expires_at: number | null
}

/** The response to a changeset, by idempotency key. */
export interface IdempotencyKeyRow {
  realm: string
  /** With the ids of its caller. */
  key: string
  /** SHA-256 of the body it came with. */
  request_hash: string
  reply: string
  at: number
}

export interface Tables {
  meta: MetaRow
  realms: RealmRow
  documents: DocumentRow
  document_refs: DocumentRefRow
  revisions: RevisionRow
  revision_operations: RevisionOperationRow
  changes: ChangeRow
  users: UserRow
  user_names: UserNameRow
  credentials: CredentialRow
  password_history: PasswordHistoryRow
  user_roles: UserRoleRow
  user_groups: UserGroupRow
  erased_people: ErasedPersonRow
  sessions: SessionRow
  login_guards: LoginGuardRow
  signing_keys: SigningKeyRow
  audit_events: AuditEventRow
  audit_marks: AuditMarkRow
  audit_totals: AuditTotalRow
  audit_emission: AuditEmissionRow
  audit_blocks: AuditBlockRow
  personal_keys: PersonalKeyRow
  organization_members: OrganizationMemberRow
  federated_links: broker.FederatedLinkRow
  mapped_memberships: broker.MappedMembershipRow
  broker_trips: broker.BrokerTripRow
  broker_sessions: broker.BrokerSessionRow
  directory_syncs: directory.DirectorySyncRow
  directory_absences: directory.DirectoryAbsenceRow
  directory_groups: directory.DirectoryGroupRow
  provisioning_tokens: provisioning.ProvisioningTokenRow
  registered_clients: provisioning.RegisteredClientRow
  user_changes: scim.UserChangeRow
  scim_targets: scim.ScimTargetRow
  scim_resources: scim.ScimResourceRow
  scim_members: scim.ScimMemberRow
  scim_tokens: scimIn.ScimTokenRow
  scim_users: scimIn.ScimUserRow
  scim_groups: scimIn.ScimGroupRow
  scim_group_versions: scimIn.ScimGroupVersionRow
  push_tokens: PushTokenRow
  client_secrets: ClientSecretRow
  agent_states: agents.AgentStateRow
  agent_delegations: agents.AgentDelegationRow
  delegation_confirmations: agents.DelegationConfirmationRow
  idempotency_keys: IdempotencyKeyRow
  authorizations: AuthorizationRow
  pushed_requests: PushedRequestRow
  logout_requests: LogoutRequestRow
  token_grants: TokenGrantRow
  authorization_codes: AuthorizationCodeRow
  refresh_tokens: RefreshTokenRow
  revoked_tokens: RevokedTokenRow
  replay_guards: ReplayGuardRow
  device_requests: DeviceRequestRow
  ciba_requests: CibaRequestRow
  consents: ConsentRow
  session_clients: SessionClientRow
  saml_requests: saml.SamlRequestRow
  saml_name_ids: saml.SamlNameIdRow
  saml_sessions: saml.SamlSessionRow
  saml_logouts: saml.SamlLogoutRow
  saml_artifacts: saml.SamlArtifactRow
  saml_metadata_reads: saml.SamlMetadataReadRow
  identity_provider_metadata: saml.ProviderMetadataRow
  saml_key_uses: saml.SamlKeyUseRow
  not_before: NotBeforeRow
  jobs: JobRow
  outbox_cursors: OutboxCursorRow
  webhook_secrets: WebhookSecretRow
  sign_ins: SignInRow
  known_devices: KnownDeviceRow
  invitations: InvitationRow
  address_undos: AddressUndoRow
  device_enrolments: DeviceEnrolmentRow
  approvals: ApprovalRow
  transactions: TransactionRow
  erasure_requests: ErasureRequestRow
  message_limits: MessageLimitRow
  owner_policies: authz.OwnerPolicyRow
  owner_policy_parties: authz.OwnerPolicyPartyRow
  permission_tickets: authz.PermissionTicketRow
  signal_streams: signal.SignalStreamRow
  signal_subjects: signal.SignalSubjectRow
  signal_events: signal.SignalEventRow
  resource_shares: authz.ResourceShareRow
}
