/**
 * Rotation of the master key: every sealed value in the database is re-encrypted under the first key of the ring. It goes row
 * by row with a guard on the old value, so a running server may write concurrently, a crash leaves every value readable under
 * one key or the other, and running it again finishes the work.
 */

import { sql } from 'kysely'
import { isObject } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Webhook } from '#schemas/kinds/notifications/webhook.ts'
import { emissionContext } from '#server/audit/emission.ts'
import { personalKeyContext } from '#server/audit/personal-keys.ts'
import { credentialContext } from '#server/credentials/credentials.ts'
import { pushTokenContext } from '#server/credentials/devices/push-tokens.ts'
import { rootSecretContext } from '#server/keys/root-secret.ts'
import { signingKeyContext } from '#server/keys/signing-keys.ts'
import { secretContext } from '#server/keys/vault.ts'
import { type Keyring, MasterKeyError, type SealedValue } from '#server/platform/sealing.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { changeStatements } from '#server/storage/documents/changes.ts'
import { guarded } from '#server/storage/statements.ts'
import { type SealedColumn, sealedColumns } from '#server/storage/tables/sealed-columns.ts'
import { authorizationPointer, signalStreamKind } from '#server/storage/tables/signal-tables.ts'
import { linkTokensContext } from '#server/users/links/links.ts'

type Row = Readonly<Record<string, unknown>>
/** The same value, sealed under the first key; anything that is not sealed as it is. */
type ResealOne = (value: unknown, context: string) => unknown

const text = (row: Row, column: string): string => String(row[column])

/** Secrets by their pointers, as a document and its history keep them. */
const secretsOf = (map: unknown, row: Row, idColumn: string, one: ResealOne): unknown => {
  if (!isObject(map)) return map
  const place = { realm: text(row, 'realm'), kind: text(row, 'kind'), id: text(row, idColumn) }
  return Object.fromEntries(
    Object.entries(map).map(([pointer, value]) => [
      pointer,
      one(value, secretContext(place, pointer)),
    ]),
  )
}

/** A side of history: bodies beside the secrets may look like anything, also like a sealed value. */
const historySide = (side: unknown, row: Row, one: ResealOne): unknown =>
  isObject(side) ? { ...side, secrets: secretsOf(side['secrets'], row, 'document_id', one) } : side

/** The paths of sealed values in the JSON of each column, and the context that each is bound to. */
const places: Readonly<Record<string, (json: unknown, row: Row, one: ResealOne) => unknown>> = {
  'meta.value': (json, _, one) => one(json, rootSecretContext),
  'documents.sealed': (json, row, one) => secretsOf(json, row, 'id', one),
  'revision_operations.before': historySide,
  'revision_operations.after': historySide,
  'credentials.secret': (json, row, one) =>
    one(json, credentialContext(text(row, 'realm'), text(row, 'id'))),
  'signing_keys.private_key': (json, row, one) =>
    one(json, signingKeyContext(text(row, 'realm'), text(row, 'id'))),
  'client_secrets.previous': (json, row, one) =>
    one(
      json,
      secretContext(
        { realm: text(row, 'realm'), kind: Client.kind, id: text(row, 'client_id') },
        '/secret',
      ),
    ),
  'webhook_secrets.previous': (json, row, one) =>
    one(
      json,
      secretContext(
        { realm: text(row, 'realm'), kind: Webhook.kind, id: text(row, 'webhook_id') },
        '/secret',
      ),
    ),
  'push_tokens.token': (json, row, one) =>
    one(json, pushTokenContext(text(row, 'realm'), text(row, 'id'))),
  'federated_links.tokens': (json, row, one) =>
    one(json, linkTokensContext(text(row, 'realm'), text(row, 'id'))),
  'personal_keys.key': (json, row, one) =>
    one(json, personalKeyContext(text(row, 'realm'), text(row, 'user_id'))),
  'audit_emission.auth': (json, _, one) => one(json, emissionContext),
  'signal_streams.authorization_header': (json, row, one) =>
    one(
      json,
      secretContext(
        { realm: text(row, 'realm'), kind: signalStreamKind, id: text(row, 'id') },
        authorizationPointer,
      ),
    ),
}

const isSealed = (value: unknown): value is SealedValue =>
  isObject(value) && typeof value['kid'] === 'string' && typeof value['v'] === 'string'

const resealWith =
  (keyring: Keyring): ResealOne =>
  (value, context) =>
    isSealed(value) && !keyring.isCurrent(value)
      ? keyring.seal(keyring.open(value, context), context)
      : value

/**
 * A document counts up its version, so that a write that read the old value decides again instead of putting it
 * back, and its realm's sequence number, so that no node goes on with a copy under the old key. The realm comes
 * first, as in every write, so that the two cannot wait for each other.
 */
const around = (
  storage: Storage,
  table: string,
  row: Row,
): { before: Statement[]; after: Statement[] } => {
  if (table !== 'documents') return { before: [], after: [] }
  const realm = text(row, 'realm')
  const announcement = storage.announce(realm)
  const count = storage.db
    .updateTable('realms')
    .set((eb) => ({ seq: eb('seq', '+', 1) }))
    .where('name', '=', realm)
  return {
    before: [guarded(count, 'realm')],
    after: [
      ...changeStatements(storage, realm, [{ kind: text(row, 'kind'), key: text(row, 'key') }]),
      ...(announcement ? [announcement] : []),
    ],
  }
}

/** Whether the row is under the first key now; a running server may have written it at the same moment. */
const replaceValue = async (
  storage: Storage,
  { table, primaryKey, column }: SealedColumn,
  row: Row,
  after: string,
): Promise<boolean> => {
  const place = sql.join(
    primaryKey.map((name) => sql`${sql.ref(name)} = ${row[name]}`),
    sql` and `,
  )
  const version = table === 'documents' ? sql`, version = version + 1` : sql``
  const update = sql`update ${sql.table(table)} set ${sql.ref(column)} = ${after} ${version}
    where ${place} and ${sql.ref(column)} = ${row[column]}`
  const { before, after: later } = around(storage, table, row)
  try {
    await storage.commit([
      ...before,
      guarded({ compile: () => update.compile(storage.db) }, 'unchanged'),
      ...later,
    ])
    return true
  } catch (error) {
    if (error instanceof GuardFailedError) return false
    throw error
  }
}

const pageSize = 200

interface Pass {
  resealed: number
  /** Rows that were written concurrently. */
  missed: number
}

const resealColumn = async (
  storage: Storage,
  keyring: Keyring,
  sealed: SealedColumn,
  pass: Pass,
): Promise<void> => {
  const { table, primaryKey, column } = sealed
  const { db } = storage
  const change = places[`${table}.${column}`]
  if (!change) throw new Error(`no place is known for sealed values in ${table}.${column}`)
  const one = resealWith(keyring)

  const resealRow = async (row: Row): Promise<void> => {
    const before = text(row, column)
    // Not everything in these columns is sealed: a password is a hash, recovery codes are digests.
    if (!before.startsWith('{')) return
    const after = JSON.stringify(change(JSON.parse(before), row, one))
    if (after === before) return
    if (await replaceValue(storage, sealed, row, after)) pass.resealed += 1
    else pass.missed += 1
  }

  const order = sql.join(primaryKey.map((name) => sql.ref(name)))
  let last: Row | undefined
  for (;;) {
    const from = last
      ? sql`and (${order}) > (${sql.join(primaryKey.map((name) => sql`${last?.[name]}`))})`
      : sql``
    const { rows } = await sql<Row>`select * from ${sql.table(table)}
      where ${sql.ref(column)} like '%"kid":"%' ${from}
      order by ${order} limit ${sql.lit(pageSize)}`.execute(db)
    // Together, so that they share the waiting for the disk.
    await Promise.all(rows.map(resealRow))
    last = rows.at(-1)
    if (rows.length < pageSize) return
  }
}

/** More than a running server needs to end what it had begun under the old key. */
const mostPasses = 10

/** Returns the number of re-encrypted rows. */
export const resealEverything = async (storage: Storage, keyring: Keyring): Promise<number> => {
  let total = 0
  for (let count = 0; count < mostPasses; count += 1) {
    const pass: Pass = { resealed: 0, missed: 0 }
    for (const column of sealedColumns) await resealColumn(storage, keyring, column, pass)
    total += pass.resealed
    // Only a pass that finds nothing shows that nothing was left behind by writes under way.
    if (pass.resealed + pass.missed === 0) return total
  }
  throw new MasterKeyError(
    'values are still being sealed under another master key: give every node the new key first',
  )
}
