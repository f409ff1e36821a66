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
    'invitations',
    'address_undos',
    'erasure_requests',
    'erased_people',
    'message_limits',
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
  ],
  'server/sessions': ['sessions', 'session_clients'],
  'server/realm': [
    'realms',
    'documents',
    'document_refs',
    'revisions',
    'revision_operations',
    'idempotency_keys',
    'client_secrets',
    'webhook_secrets',
    'agent_states',
  ],
  'server/sign-in': ['sign_ins', 'known_devices'],
  'server/oidc': [
    'authorizations',
    'pushed_requests',
    'logout_requests',
    'device_requests',
    'ciba_requests',
    'consents',
  ],
  'server/provisioning': ['provisioning_tokens'],
}

export const ownerOf: ReadonlyMap<string, string> = new Map(
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
  // Counts `seq` up, for whatever the copies of the nodes hold: the folders below server/realm need it too.
  { path: 'server/storage/documents/changes.ts', table: 'realms' },
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

export const queriesOf = ({ files }: Tree): Query[] => {
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
