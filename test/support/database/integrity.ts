/**
 * Whether everything in a database fits together, computed from its rows alone: history, documents, references, the
 * changes log, users and the audit trail. Answers what is wrong, one line each; nothing is wrong in a whole database.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Selectable } from 'kysely'
import type { Doc } from '#schemas/json-schema.ts'
import { parentKeyOf } from '#schemas/kind.ts'
import { contentHash } from '#schemas/normalize.ts'
import { kindNamed } from '#schemas/registry.ts'
import { referencesOf } from '#schemas/walk.ts'
import type { Storage } from '#server/storage/contract.ts'
import type {
  AuditEventRow,
  ChangeRow,
  DocumentRefRow,
  DocumentRow,
  RealmRow,
  RevisionOperationRow,
  RevisionRow,
  UserNameRow,
  UserRoleRow,
  UserRow,
} from '#server/storage/tables/tables.ts'

type EventRow = Selectable<AuditEventRow>

interface Rows {
  readonly realms: readonly RealmRow[]
  readonly documents: readonly DocumentRow[]
  readonly refs: readonly DocumentRefRow[]
  readonly revisions: readonly RevisionRow[]
  readonly operations: readonly RevisionOperationRow[]
  readonly changes: readonly ChangeRow[]
  readonly users: readonly UserRow[]
  readonly names: readonly UserNameRow[]
  readonly userRoles: readonly Selectable<UserRoleRow>[]
  readonly events: readonly EventRow[]
}

const readRows = async ({ db }: Storage): Promise<Rows> => ({
  realms: await db.selectFrom('realms').selectAll().execute(),
  documents: await db.selectFrom('documents').selectAll().execute(),
  refs: await db.selectFrom('document_refs').selectAll().execute(),
  revisions: await db.selectFrom('revisions').selectAll().orderBy('revision').execute(),
  operations: await db
    .selectFrom('revision_operations')
    .selectAll()
    .orderBy('revision')
    .orderBy('n')
    .execute(),
  changes: await db.selectFrom('changes').selectAll().orderBy('seq').execute(),
  users: await db.selectFrom('users').selectAll().execute(),
  names: await db.selectFrom('user_names').selectAll().execute(),
  userRoles: await db.selectFrom('user_roles').selectAll().execute(),
  events: await db.selectFrom('audit_events').selectAll().orderBy('id').execute(),
})

const counted = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)

/** One fault where two bags of texts differ, which names what is in only one of them. */
const compare = (what: string, found: readonly string[], expected: readonly string[]): string[] => {
  const only = (some: readonly string[], others: readonly string[]): string[] => {
    const rest = new Map<string, number>()
    for (const other of others) rest.set(other, (rest.get(other) ?? 0) + 1)
    return some.filter((one) => {
      const left = rest.get(one) ?? 0
      rest.set(one, left - 1)
      return left <= 0
    })
  }
  const [extra, missing] = [only(found, expected), only(expected, found)]
  if (extra.length + missing.length === 0) return []
  const first = (list: readonly string[]): string => JSON.stringify(list.slice(0, 5))
  return [`${what}: too many ${first(extra)}, missing ${first(missing)}`]
}

/** Numbers without a gap, and no revision without its operations. */
const numberFaults = ({ realms, revisions, operations, changes }: Rows): string[] =>
  realms.flatMap(({ name, revision, seq }) => {
    const own = revisions.filter(({ realm }) => realm === name)
    const ops = Map.groupBy(
      operations.filter(({ realm }) => realm === name),
      (op) => op.revision,
    )
    const log = [...new Set(changes.filter(({ realm }) => realm === name).map((row) => row.seq))]
    // The log is kept short: what there is reaches up to the present without a gap.
    const oldest = log[0] ?? 1
    return [
      ...(isDeepStrictEqual(
        own.map((one) => one.revision),
        counted(1, revision),
      )
        ? []
        : [`${name} is at revision ${revision}, and its revisions are not 1 to that`]),
      ...own.flatMap((one) => {
        const numbers = ops.get(one.revision)?.map(({ n }) => n) ?? []
        const whole =
          numbers.length > 0 && isDeepStrictEqual(numbers, counted(0, numbers.length - 1))
        return whole ? [] : [`revision ${one.revision} of ${name} has operations ${numbers}`]
      }),
      ...(isDeepStrictEqual(log, counted(oldest, seq)) && (oldest === 1 || log.length >= 1000)
        ? []
        : [`the changes log of ${name}, which is at ${seq}, has a gap`]),
      ...(seq === revision
        ? compare(
            `changes of ${name}`,
            changes
              .filter(({ realm }) => realm === name)
              .map((row) => `${row.seq} ${row.kind} ${row.key}`),
            touchedBy([...ops.values()].flat().filter((op) => op.revision >= oldest)),
          )
        : []),
    ]
  })

interface Kept {
  readonly key: string
  readonly parentId: string | null
  readonly origin: string
  readonly owner: string | null
  readonly protected: boolean
  readonly body: Doc
  readonly secrets: unknown
}

const keptIn = (side: string | null): Kept | null =>
  side === null ? null : (JSON.parse(side) as Kept)

/** The places that operations changed: the old key and the new one. */
const touchedBy = (operations: readonly RevisionOperationRow[]): string[] => [
  ...new Set(
    operations.flatMap(({ revision, kind, before, after }) =>
      [keptIn(before), keptIn(after)].flatMap((side) =>
        side ? [`${revision} ${kind} ${side.key}`] : [],
      ),
    ),
  ),
]

/** History replayed is what there is: each `before` the last `after`, and the last of all the document. */
const historyFaults = ({ operations, documents }: Rows): string[] => {
  const faults: string[] = []
  const state = new Map<string, { side: Kept | null; writes: number }>()
  /** What they were at run time is in no history, nor how often they were written then. */
  const adopted = new Set<string>()
  for (const operation of operations) {
    const { realm, revision, n, op, document_id: id } = operation
    const where = `operation ${n} of revision ${revision} of ${realm}`
    const [before, after] = [keptIn(operation.before), keptIn(operation.after)]
    const known = state.get(id)
    if (before?.origin === 'runtime' && !known) adopted.add(id)
    else if (!isDeepStrictEqual(known?.side ?? null, before))
      faults.push(`${where}: "before" is not what the document was`)
    if ((op === 'create') !== (before === null) || (op === 'delete') !== (after === null))
      faults.push(`${where}: is no ${op}`)
    state.set(id, { side: after, writes: (known?.writes ?? 0) + 1 })
  }
  for (const row of documents) {
    const known = state.get(row.id)
    state.delete(row.id)
    if (row.origin === 'runtime') continue
    const { key, parent_id: parentId, origin, owner } = row
    const [body, secrets] = [JSON.parse(row.body) as Doc, JSON.parse(row.sealed ?? '{}')]
    const side = { key, parentId, origin, owner, protected: row.protected === 1, body, secrets }
    const name = `${row.kind} ${row.key} of ${row.realm}`
    if (!isDeepStrictEqual(known?.side, side)) faults.push(`${name} is not what history says`)
    if (known?.writes !== row.version && !adopted.has(row.id))
      faults.push(`${name} has version ${row.version}`)
    if (contentHash(body) !== row.hash) faults.push(`${name} has the hash of another body`)
  }
  for (const [id, { side }] of state)
    if (side !== null) faults.push(`history has a document ${id} (${side.key}) that is not there`)
  return faults
}

/** The references table and the parents are what the bodies and keys say. */
const referenceFaults = ({ documents, refs }: Rows): string[] => {
  const ids = new Map(documents.map((row) => [`${row.realm}\n${row.kind}\n${row.key}`, row.id]))
  const expected = documents.flatMap(({ id, realm, kind, key, body }) => {
    const found = referencesOf(kindNamed(kind), JSON.parse(body) as Doc, key)
    return found.map(
      (to) => `${id} ${to.field} ${ids.get(`${realm}\n${to.kind}\n${to.key}`) ?? to.key}`,
    )
  })
  const rows = refs.map(({ from_id, path, to_id }) => `${from_id} ${path} ${to_id}`)
  return [
    ...compare('references', rows, [...new Set(expected)]),
    ...documents.flatMap(({ realm, kind, key, parent_id }) => {
      const entry = kindNamed(kind)
      const above = parentKeyOf(entry, key)
      const parent = above === null ? null : ids.get(`${realm}\n${entry.parentKind}\n${above}`)
      return parent === parent_id ? [] : [`${kind} ${key} of ${realm} has another parent`]
    }),
  ]
}

const userFaults = ({ users, names, userRoles, documents }: Rows): string[] => {
  const realms = new Map([...users, ...documents].map(({ id, realm }) => [id, realm]))
  return [
    ...compare(
      'names of users',
      names.map(({ realm, name, user_id }) => `${realm} ${name} ${user_id}`),
      users.flatMap(({ realm, id, username_key, email_key }) =>
        [...new Set([username_key, email_key])].flatMap((name) =>
          name === null ? [] : [`${realm} ${name} ${id}`],
        ),
      ),
    ),
    ...userRoles
      .filter(({ user_id, role_id }) => realms.get(user_id) !== realms.get(role_id))
      .map(({ user_id, role_id }) => `user ${user_id} has the role ${role_id} of another realm`),
  ]
}

const eventTypes = {
  create: 'ADMIN_CREATE',
  update: 'ADMIN_UPDATE',
  rename: 'ADMIN_UPDATE',
  delete: 'ADMIN_DELETE',
}

/** Seeds of a realm are covered by the one event of its creation, unless the changeset that creates it names them. */
const isBorn = ({ op, after }: RevisionOperationRow): boolean => {
  if (op !== 'create' || after === null) return false
  const { origin, owner } = JSON.parse(after) as { origin: string; owner: string | null }
  return origin === 'built-in' && owner === null
}

/** Every operation of history has its event, and every event that names a revision its operation. */
const historyEventFaults = ({ events, operations, revisions }: Rows): string[] => {
  const silent = new Set(
    revisions.filter(({ source }) => source === 'bootstrap').map((r) => `${r.realm} ${r.revision}`),
  )
  const expected = operations
    .filter((operation) => !silent.has(`${operation.realm} ${operation.revision}`))
    .filter((operation) => !isBorn(operation))
    .map(({ realm, revision, op, kind, key, document_id }) => {
      const { resourceType, idField } = kindNamed(kind)
      const id = idField === null ? key : document_id
      return `${realm} ${revision} ${eventTypes[op]} ${resourceType} ${id}`
    })
  const told = events
    .filter(({ revision }) => revision !== null)
    .map((e) => `${e.realm} ${e.revision} ${e.type} ${e.resource_type} ${e.resource_id}`)
  return compare('events of history', told, expected)
}

const successes = (events: readonly EventRow[], resourceType: string): EventRow[] =>
  events.filter(
    (event) =>
      event.category === 'ADMIN' &&
      event.outcome === 'SUCCESS' &&
      event.revision === null &&
      event.resource_type === resourceType,
  )

/** What the events made and did not delete. */
const remaining = (events: readonly EventRow[]): Set<string> => {
  const left = new Set<string>()
  for (const { type, resource_id: id } of events) {
    if (type === 'ADMIN_CREATE') left.add(String(id))
    if (type === 'ADMIN_DELETE') left.delete(String(id))
  }
  return left
}

/** What a name meant from a revision on. */
interface Meaning {
  readonly revision: number
  readonly id: string
}

/**
 * Every name that a role of a realm has had, with the roles it was. Under no name stands the one that new users got,
 * and under `-` stand those that were deleted.
 */
const roleMeanings = (
  operations: readonly RevisionOperationRow[],
): ReadonlyMap<string, readonly Meaning[]> => {
  const meanings = new Map<string, Meaning[]>()
  const add = (name: string, meaning: Meaning): void => {
    meanings.set(name, [...(meanings.get(name) ?? []), meaning])
  }
  for (const { kind, realm, revision, after, document_id: id } of operations) {
    const side = keptIn(after)
    if (kind === 'role') add(side ? `${realm} ${side.key}` : `${realm} -`, { revision, id })
    if (kind === 'settings' && side)
      add(`${realm} `, { revision, id: String(side.body['defaultRole'] ?? 'user') })
  }
  return meanings
}

/** The revision that a realm had when an event happened, by the event's number. */
const revisionsAt = (events: readonly EventRow[]): ReadonlyMap<number, number> => {
  const latest = new Map<string, number>()
  return new Map(
    events.map(({ id, realm, revision }) => {
      latest.set(realm, Math.max(latest.get(realm) ?? 1, revision ?? 1))
      return [id, latest.get(realm) ?? 1]
    }),
  )
}

/** The roles that the trail says a user was given and did not lose again, by id. */
const assignedRoles = (
  realm: string,
  trail: readonly EventRow[],
  meanings: ReadonlyMap<string, readonly Meaning[]>,
  revisions: ReadonlyMap<number, number>,
): string[] => {
  const idAt = (name: string, revision: number): string =>
    meanings.get(`${realm} ${name}`)?.findLast((one) => one.revision <= revision)?.id ?? name
  const since = new Map<string, number>()
  for (const { id, type, detail } of trail) {
    const revision = revisions.get(id) ?? 1
    const [, role = '', how] = /^role (.+) (assigned|taken away)$/.exec(detail ?? '') ?? []
    if (type === 'ADMIN_CREATE') since.set(idAt(idAt('', revision), revision), revision)
    else if (how === 'assigned') since.set(idAt(role, revision), revision)
    else if (how === 'taken away') since.delete(idAt(role, revision))
  }
  // A role that comes back by a rollback comes without its holders.
  const gone = meanings.get(`${realm} -`) ?? []
  return [...since].flatMap(([id, from]) =>
    gone.some((one) => one.id === id && one.revision > from) ? [] : [id],
  )
}

/** Realms and users that are no documents: the trail told from its beginning is what there is. */
const dataEventFaults = (rows: Rows): string[] => {
  const { events, realms, users, userRoles, operations } = rows
  const trail = successes(events, 'users')
  const told = remaining(trail)
  const meanings = roleMeanings(operations)
  const revisions = revisionsAt(events)
  const declared = new Set(operations.map(({ document_id }) => document_id))
  // For users that a file named for a while, the rest is in the history.
  const data = users.filter(({ managed, id }) => managed === 0 && !declared.has(id))
  const trailOf = Map.groupBy(trail, (event) => String(event.resource_id))
  const heldBy = Map.groupBy(userRoles, ({ user_id }) => user_id)
  return [
    ...compare(
      'realms',
      realms.map(({ name }) => name),
      [...remaining(successes(events, 'realms'))],
    ),
    // The first administrator of a realm is told by the event of the realm.
    ...compare(
      'users',
      data.filter(({ id, username }) => told.has(id) || username !== 'admin').map(({ id }) => id),
      [...told].filter((id) => !declared.has(id)),
    ),
    ...data
      .filter(({ id }) => told.has(id))
      .flatMap(({ id, realm, username, version }) => {
        const own = trailOf.get(id) ?? []
        const replaced = own.filter(
          ({ type, detail }) => type === 'ADMIN_UPDATE' && detail === null,
        ).length
        return [
          ...(version === 1 + replaced ? [] : [`user ${username} has version ${version}`]),
          ...compare(
            `roles of ${username}`,
            heldBy.get(id)?.map(({ role_id }) => role_id) ?? [],
            assignedRoles(realm, own, meanings, revisions),
          ),
        ]
      }),
  ]
}

export const faultsOf = async (storage: Storage): Promise<string[]> => {
  const rows = await readRows(storage)
  const keys = await storage.db
    .selectFrom('signing_keys')
    .select('realm')
    .where('status', '=', 'ACTIVE')
    .where('client_id', 'is', null)
    .execute()
  return [
    ...numberFaults(rows),
    ...historyFaults(rows),
    ...referenceFaults(rows),
    ...userFaults(rows),
    ...historyEventFaults(rows),
    ...dataEventFaults(rows),
    ...compare(
      'active keys',
      keys.map(({ realm }) => realm),
      rows.realms.map(({ name }) => name),
    ),
  ]
}
