/**
 * Details beside an event, which contains ids: the names of users and documents, and the values of a configuration
 * change before and after. They are looked up when events are read, so that nothing outlives an erasure.
 */

import type { Kysely, Selectable } from 'kysely'
import { kindNamed } from '#schemas/registry.ts'
import type { AuditRecord, EventDetails } from '#schemas/wire/events.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Vault } from '#server/keys/vault.ts'
import { isUuid } from '#server/platform/ids.ts'
import { actorNames } from '#server/realm/history/history.ts'
import { changeOf } from '#server/realm/history/revisions.ts'
import { mayRead } from '#server/realm/rules/access.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import type { AuditEventRow, RevisionOperationRow, Tables } from '#server/storage/tables/tables.ts'
import { foldName } from '#server/users/names.ts'

type Row = Selectable<AuditEventRow>

/** Administrators of other realms belong here. */
const master = 'master'

/** A reply does not grow without bound with the documents that events are about. */
const mostFields = 50

/**
 * The actors, as events name them, that a text may mean: users and clients by their id, username, address or clientId,
 * strangers by the name that they tried.
 */
export const actorIds = async (
  db: Kysely<Tables>,
  realm: string,
  text: string,
): Promise<string[]> => {
  if (isUuid(text)) return [text]
  const users = db
    .selectFrom('user_names')
    .select('user_id as id')
    .where('realm', 'in', [realm, master])
    .where('name', '=', foldName(text))
  const clients = db
    .selectFrom('documents')
    .select('id')
    .where('realm', '=', realm)
    .where('kind', 'in', ['client', 'agent'])
    .where('key', '=', text)
  const found = await users.unionAll(clients).execute()
  return [...new Set([text, ...found.map(({ id }) => id)])]
}

/** Those of them that have events, so that a search has as few as possible. */
export const actorsMeant = async (
  db: Kysely<Tables>,
  realm: string,
  text: string,
): Promise<string[]> => {
  const meant: string[] = []
  for (const actor of await actorIds(db, realm, text)) {
    const event = await db
      .selectFrom('audit_events')
      .select('id')
      .where('realm', '=', realm)
      .where('actor', '=', actor)
      .limit(1)
      .executeTakeFirst()
    if (event) meant.push(actor)
  }
  return meant
}

const operationsOf = async (
  db: Kysely<Tables>,
  realm: string,
  rows: readonly Row[],
): Promise<ReadonlyMap<string, RevisionOperationRow>> => {
  const revisions = [...new Set(rows.flatMap(({ revision }) => revision ?? []))]
  const ids = [...new Set(rows.flatMap(({ resource_id }) => resource_id ?? []))]
  if (revisions.length === 0 || ids.length === 0) return new Map()
  const found = await readInSlices(ids, (part) =>
    db
      .selectFrom('revision_operations')
      .selectAll()
      .where('realm', '=', realm)
      .where('revision', 'in', revisions)
      .where('document_id', 'in', part)
      .execute(),
  )
  return new Map(found.map((row) => [`${row.revision} ${row.document_id}`, row]))
}

const resourceNames = async (
  db: Kysely<Tables>,
  realm: string,
  rows: readonly Row[],
): Promise<ReadonlyMap<string, string>> => {
  const ids = [...new Set(rows.flatMap(({ resource_id }) => resource_id ?? []))].filter(isUuid)
  const [documents, users] = await Promise.all([
    readInSlices(ids, (part) =>
      db
        .selectFrom('documents')
        .select(['id', 'key as name'])
        .where('realm', '=', realm)
        .where('id', 'in', part)
        .execute(),
    ),
    readInSlices(ids, (part) =>
      db
        .selectFrom('users')
        .select(['id', 'username as name'])
        .where('realm', '=', realm)
        .where('id', 'in', part)
        .execute(),
    ),
  ])
  return new Map([...documents, ...users].map(({ id, name }) => [id, name]))
}

export interface DetailParts {
  readonly db: Kysely<Tables>
  readonly vault: Vault
}

/** The records of these rows, in their order, with what can be told of them. */
export const withDetails = async (
  { db, vault }: DetailParts,
  { realm, caller, withChanges }: { realm: string; caller: Caller; withChanges: boolean },
  rows: readonly Row[],
  records: readonly AuditRecord[],
): Promise<(AuditRecord & EventDetails)[]> => {
  const people = rows.flatMap(({ actor, on_behalf_of }) => [actor, on_behalf_of ?? []].flat())
  const names = await actorNames(db, people.filter(isUuid))
  const resources = await resourceNames(db, realm, rows)
  const operations = await operationsOf(db, realm, rows)
  return records.map((record, i) => {
    const { revision = null, resource_id = null } = rows[i] ?? {}
    const operation = operations.get(`${revision} ${resource_id}`)
    const { actor, onBehalfOf } = record
    // One that is gone was called so when it went.
    const resourceName = resources.get(resource_id ?? '') ?? operation?.key
    const isShown =
      withChanges &&
      (operation?.op === 'update' || operation?.op === 'rename') &&
      mayRead(caller, kindNamed(operation.kind))
    const change = operation && isShown ? changeOf(operation, vault) : undefined
    return {
      ...record,
      ...optional('actorName', names.get(actor)),
      ...optional('onBehalfOfName', names.get(onBehalfOf ?? '')),
      ...optional('resourceName', resourceName),
      ...optional('revision', revision ?? undefined),
      ...(change && {
        changes: { fields: change.fields.slice(0, mostFields), secrets: change.secrets },
      }),
    }
  })
}

const optional = <K extends string, V>(name: K, value: V | undefined): { [name in K]?: V } =>
  value === undefined ? {} : ({ [name]: value } as { [name in K]: V })
