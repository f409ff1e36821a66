/**
 * A table has one owner: the folder whose functions make every statement that writes it. Others call those functions and
 * commit the statements of several owners together. A read across owners belongs to the folder of its purpose.
 */
import { folderOf } from './floors.ts'
import { type Query, queriesIn } from './queries.ts'
import { isNode, literal, nameOf, type Tree } from './tree.ts'

const owned: Readonly<Record<string, readonly string[]>> = {
  'server/storage': ['changes'],
  'server/jobs': ['jobs'],
  'server/audit': [
    'audit_events',
    'audit_marks',
    'audit_totals',
    'audit_emission',
    'audit_blocks',
    'personal_keys',
    'outbox_cursors',
  ],
  'server/keys': ['meta', 'signing_keys'],
  'server/users': [
    'users',
    'user_names',
    'user_roles',
    'user_groups',
    'organization_members',
    'federated_links',
    'mapped_memberships',
    'invitations',
    'address_undos',
    'erasure_requests',
    'erased_people',
    'message_limits',
    'user_changes',
    'scim_group_versions',
  ],
  'server/credentials': [
    'credentials',
    'password_history',
    'push_tokens',
    'device_enrolments',
    'approvals',
    'transactions',
    'login_guards',
    'replay_guards',
  ],
  'server/tokens': [
    'token_grants',
    'authorization_codes',
    'refresh_tokens',
    'revoked_tokens',
    'not_before',
    'agent_states',
  ],
  'server/sessions': ['sessions', 'session_clients', 'saml_sessions', 'sign_ins'],
  'server/saml': [
    'saml_name_ids',
    'saml_logouts',
    'saml_artifacts',
    'saml_metadata_reads',
    'saml_key_uses',
  ],
  'server/directories': ['directory_syncs', 'directory_absences', 'directory_groups'],
  'server/realm': [
    'realms',
    'documents',
    'document_refs',
    'revisions',
    'revision_operations',
    'idempotency_keys',
    'client_secrets',
    'webhook_secrets',
  ],
  'server/broker': ['broker_trips', 'broker_sessions', 'identity_provider_metadata'],
  'server/sign-in': ['known_devices', 'authorizations', 'saml_requests'],
  'server/oidc': [
    'pushed_requests',
    'logout_requests',
    'device_requests',
    'ciba_requests',
    'consents',
    'agent_delegations',
    'delegation_confirmations',
  ],
  'server/authz': [
    'owner_policies',
    'owner_policy_parties',
    'permission_tickets',
    'resource_shares',
  ],
  'server/provisioning': [
    'signal_streams',
    'signal_subjects',
    'signal_events',

    'provisioning_tokens',
    'registered_clients',
    'scim_targets',
    'scim_resources',
    'scim_members',
    'scim_tokens',
    'scim_users',
    'scim_groups',
  ],
}

const ownerOf: ReadonlyMap<string, string> = new Map(
  Object.entries(owned).flatMap(([folder, tables]) => tables.map((table) => [table, folder])),
)

/** Code that moves rows of any table without knowing what they mean. */
const transport: readonly RegExp[] = [
  /^server\/storage\/(migrations|backup|sqlite|postgres)\//,
  /^server\/storage\/(statements|migrate|maintenance)\.ts$/,
  // Seals the sealed columns of every table under another master key.
  /^server\/realm\/reseal\.ts$/,
]

/** Writes of a table that another folder owns. */
const otherWriters: readonly { path: string; table: string }[] = [
  // Counts `seq` up for the copies of all nodes: the folders below server/realm need it too.
  { path: 'server/storage/documents/changes.ts', table: 'realms' },
]

interface CrossRead {
  readonly path: string
  readonly tables: readonly string[]
  /** What the query is for, and so why it stands in this folder. */
  readonly purpose: string
}

/** Reads of tables that other folders own. One table by its key is no such purpose: the owner has a function for it. */
const crossReads: readonly CrossRead[] = [
  {
    path: 'server/storage/documents/changes.ts',
    tables: ['realms'],
    purpose: 'the log takes the number that the row of the realm has in the same transaction',
  },
  {
    path: 'server/storage/documents/copy.ts',
    tables: ['realms', 'documents'],
    purpose: 'the copy in memory that every floor reads configuration from',
  },
  {
    path: 'server/storage/documents/reads.ts',
    tables: ['realms', 'documents', 'document_refs'],
    purpose: 'documents as they are stored, for the folders below server/realm too',
  },
  {
    path: 'server/audit/chain.ts',
    tables: ['realms'],
    purpose: 'blocks of events are made for realms that exist',
  },
  {
    path: 'server/audit/personal-keys.ts',
    tables: ['users', 'documents'],
    purpose: 'whether an actor is a person, whose data is sealed, or a client',
  },
  {
    path: 'server/audit/retention.ts',
    tables: ['users'],
    purpose:
      'keys outlive their user until the last event about the user is gone, in one statement',
  },
  {
    path: 'server/users/users.ts',
    tables: ['credentials'],
    purpose: 'a sign-in finds the user and the password in one query',
  },
  {
    path: 'server/users/memberships.ts',
    tables: ['documents', 'document_refs'],
    purpose: 'memberships of managed users are made of the references of their documents',
  },
  {
    path: 'server/users/group-versions.ts',
    tables: ['documents', 'document_refs'],
    purpose:
      'the groups whose members change with the references of managed users, and which are still there',
  },
  {
    path: 'server/users/user-changes.ts',
    tables: ['documents'],
    purpose: 'changes of users are noted only in realms that have SCIM targets',
  },
  {
    path: 'server/users/links/links.ts',
    tables: ['documents'],
    purpose: 'links of a deleted provider, which the one that replaces it takes over',
  },
  {
    path: 'server/users/privacy/data-export.ts',
    tables: ['credentials', 'audit_events'],
    purpose: 'the export of what is stored of one person (GDPR article 15)',
  },
  {
    path: 'server/tokens/grants/liveness.ts',
    tables: ['users', 'sessions'],
    purpose: 'all that a token depends on, in one query',
  },
  {
    path: 'server/tokens/agents/agent-states.ts',
    tables: ['users'],
    purpose: 'an agent depends on its owner, who is read with it',
  },
  {
    path: 'server/tokens/access/organizations.ts',
    tables: ['sessions'],
    purpose: 'tokens name the organization that was chosen in their session',
  },
  {
    path: 'server/sessions/alive-sessions.ts',
    tables: ['users'],
    purpose: 'a session with its user in one query',
  },
  {
    path: 'server/sessions/sessions.ts',
    tables: ['users', 'documents'],
    purpose: 'lists of sessions with the names in them',
  },
  {
    path: 'server/sessions/saml-sessions.ts',
    tables: ['users'],
    purpose: 'names at service providers outlive their user until the logout has been told',
  },
  {
    path: 'server/realm/changesets/compare.ts',
    tables: ['credentials'],
    purpose: 'which users a rollback brought back without their credentials',
  },
  {
    path: 'server/realm/history/history.ts',
    tables: ['users'],
    purpose: 'names of the actors of revisions, who are users or clients',
  },
  {
    path: 'server/realm/transfer/user-ids.ts',
    tables: ['users'],
    purpose: 'whether the ids of an export are free',
  },
  {
    path: 'server/realm/read/senders.ts',
    tables: ['scim_users', 'scim_groups'],
    purpose: 'the owners of users and groups that no estate declares, for plans and exports',
  },
  {
    path: 'server/realm/behaviours/scim-target.ts',
    tables: ['scim_targets'],
    purpose: 'a target is shown with how far provisioning is',
  },
  {
    path: 'server/realm/rules/impact-counts.ts',
    tables: [
      'users',
      'user_roles',
      'user_groups',
      'organization_members',
      'sessions',
      'session_clients',
      'federated_links',
      'credentials',
    ],
    purpose: 'the blast radius of a plan',
  },
  {
    path: 'server/realm/rules/last-admin.ts',
    tables: ['users', 'user_roles', 'user_groups'],
    purpose: 'whether somebody is left who administers the master realm',
  },
  {
    path: 'server/realm/transfer/unmanaged-users.ts',
    tables: ['users', 'user_roles', 'user_groups', 'organization_members'],
    purpose: 'the export of users that no file declares',
  },
  {
    path: 'server/oidc/consent/consents.ts',
    tables: ['documents'],
    purpose: 'the list of consents with the clientIds in it',
  },
  {
    path: 'server/provisioning/scim/in/users/conditions.ts',
    tables: ['users', 'user_groups'],
    purpose: 'filters of users as SCIM asks for them',
  },
  {
    path: 'server/provisioning/scim/in/users/search.ts',
    tables: ['users'],
    purpose: 'order and pages of users as SCIM asks for them',
  },
  {
    path: 'server/provisioning/scim/in/groups/members.ts',
    tables: ['user_groups'],
    purpose: 'members of groups, and whether some are members',
  },
  {
    path: 'server/admin/events/event-details.ts',
    tables: ['audit_events', 'revision_operations', 'documents', 'users', 'user_names'],
    purpose: 'the search in events by names, and the names and changes in what it finds',
  },
  {
    path: 'server/admin/events/metrics-summary.ts',
    tables: ['realms', 'documents', 'users', 'sessions'],
    purpose: 'the figures of the whole server',
  },
  {
    path: 'server/admin/sessions/sessions.ts',
    tables: ['documents', 'audit_events'],
    purpose: 'when clients were used last',
  },
  {
    path: 'server/admin/sessions/whoami.ts',
    tables: ['documents'],
    purpose: 'the service account that calls, of whatever realm',
  },
]

/** The tables of the database: the properties of `interface Tables`. */
const tablesIn = ({ files }: Tree): string[] => {
  const tables: string[] = []
  for (const file of files.filter(({ path }) => path === 'server/storage/tables/tables.ts'))
    file.walk((node) => {
      if (node.type !== 'TSInterfaceDeclaration' || nameOf(node['id']) !== 'Tables') return
      const body: unknown = isNode(node['body']) ? node['body']['body'] : undefined
      for (const member of Array.isArray(body) ? body.filter(isNode) : [])
        tables.push(nameOf(member['key']) ?? literal(member['key']) ?? '')
    })
  return tables
}

const queriesOf = ({ files }: Tree): Query[] => {
  const tables = new Set(ownerOf.keys())
  return files
    .filter(({ path }) => path.startsWith('server/'))
    .filter(({ path }) => !transport.some((pattern) => pattern.test(path)))
    .flatMap((file) => queriesIn(file, tables))
}

export const ownerlessTables = (tree: Tree): string[] => {
  const tables = tablesIn(tree)
  const gone = tables.length === 0 ? [] : [...ownerOf.keys()].filter((one) => !tables.includes(one))
  return [
    ...tables.filter((table) => !ownerOf.has(table)).map((table) => `${table} has no owner`),
    ...gone.map((table) => `${table} has an owner and does not exist`),
  ]
}

export const foreignWrites = (tree: Tree): string[] =>
  queriesOf(tree)
    .filter(({ how }) => how === 'write')
    .filter(({ path, table }) => ownerOf.get(table ?? '') !== folderOf(path))
    .filter(
      (one) => !otherWriters.some(({ path, table }) => path === one.path && table === one.table),
    )
    .map(({ path, line, table }) =>
      table === undefined
        ? `${path}:${line} writes a table that the file does not name`
        : `${path}:${line} writes ${table}, which ${ownerOf.get(table)} owns`,
    )

const isListed = (one: Query): boolean =>
  crossReads.some(({ path, tables }) => path === one.path && tables.includes(one.table ?? ''))

export const foreignReads = (tree: Tree): string[] => {
  const reads = queriesOf(tree)
    .filter(({ how }) => how === 'read')
    .filter(({ path, table }) => ownerOf.get(table ?? '') !== folderOf(path))
  const idle = crossReads
    .filter(({ path }) => tree.paths.includes(path))
    .flatMap(({ path, tables }) => tables.map((table) => ({ path, table })))
    .filter((one) => !reads.some(({ path, table }) => path === one.path && table === one.table))
  return [
    ...reads
      .filter((one) => !isListed(one))
      .map(
        ({ path, line, table = '' }) =>
          `${path}:${line} reads ${table}: call a function of ${ownerOf.get(table)}`,
      ),
    ...idle.map(({ path, table }) => `${path} is listed with ${table} and does not read it`),
  ]
}
