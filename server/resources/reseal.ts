/**
 * Rotation of the master key: every sealed value in the database is opened and sealed anew under the first key of
 * the ring. It goes row by row with a guard on the old value, so a running server may write meanwhile, a crash
 * leaves every value readable under one key or the other, and running it again finishes the work.
 */

import { sql } from 'kysely'
import { isObject } from '#schemas/json-schema.ts'
import { rootSecretContext } from '#server/keys/root-secret.ts'
import { signingKeyContext } from '#server/keys/signing-keys.ts'
import type { Keyring, SealedValue } from '#server/platform/sealing.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import { type SealedColumn, sealedColumns } from '#server/storage/sealed-columns.ts'
import { guarded } from '#server/storage/statements.ts'
import { secretContext } from './secrets.ts'

type Row = Readonly<Record<string, unknown>>

const text = (row: Row, column: string): string => String(row[column])

/** The place each sealed value is bound to, by its column; `pointer` is its path inside the JSON. */
const contexts: Readonly<Record<string, (row: Row, pointer: string) => string>> = {
  'meta.value': () => rootSecretContext,
  'documents.sealed': (row, pointer) =>
    secretContext(
      { realm: text(row, 'realm'), kind: text(row, 'kind'), id: text(row, 'id') },
      pointer,
    ),
  'revision_operations.before': (row, pointer) => historyContext(row, pointer),
  'revision_operations.after': (row, pointer) => historyContext(row, pointer),
  'credentials.secret': (row) => `${text(row, 'realm')}/credential/${text(row, 'id')}`,
  'signing_keys.private_key': (row) => signingKeyContext(text(row, 'realm'), text(row, 'id')),
}

const historyContext = (row: Row, pointer: string): string =>
  secretContext(
    { realm: text(row, 'realm'), kind: text(row, 'kind'), id: text(row, 'document_id') },
    pointer,
  )

const isSealed = (value: unknown): value is SealedValue =>
  isObject(value) && typeof value['kid'] === 'string' && typeof value['v'] === 'string'

const reseal = (
  value: unknown,
  context: (pointer: string) => string,
  keyring: Keyring,
  key = '',
): unknown => {
  if (isSealed(value)) {
    if (keyring.isCurrent(value)) return value
    return keyring.seal(keyring.open(value, context(key)), context(key))
  }
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, reseal(inner, context, keyring, name)]),
  )
}

const batch = 500

const resealColumn = async (
  storage: Storage,
  keyring: Keyring,
  { table, primaryKey, column }: SealedColumn,
): Promise<number> => {
  const { db } = storage
  const contextOf = contexts[`${table}.${column}`]
  if (!contextOf) throw new Error(`no context is known for sealed values in ${table}.${column}`)
  const order = sql.join(primaryKey.map((name) => sql.ref(name)))
  let changed = 0
  let last: Row | undefined
  for (;;) {
    const from = last
      ? sql`where (${order}) > (${sql.join(primaryKey.map((name) => sql`${last?.[name]}`))})`
      : sql``
    const { rows } = await sql<Row>`select * from ${sql.table(table)} ${from}
      order by ${order} limit ${sql.lit(batch)}`.execute(db)
    for (const row of rows)
      if (await resealRow(storage, keyring, table, primaryKey, column, row, contextOf)) changed += 1
    last = rows.at(-1)
    if (rows.length < batch) return changed
  }
}

const resealRow = async (
  storage: Storage,
  keyring: Keyring,
  table: string,
  primaryKey: readonly string[],
  column: string,
  row: Row,
  contextOf: (row: Row, pointer: string) => string,
): Promise<boolean> => {
  const before = row[column]
  if (typeof before !== 'string' || !before.startsWith('{')) return false
  const after = JSON.stringify(
    reseal(JSON.parse(before), (pointer) => contextOf(row, pointer), keyring),
  )
  if (after === before) return false
  const place = sql.join(
    primaryKey.map((name) => sql`${sql.ref(name)} = ${row[name]}`),
    sql` and `,
  )
  const update = sql`update ${sql.table(table)} set ${sql.ref(column)} = ${after}
    where ${place} and ${sql.ref(column)} = ${before}`
  try {
    await storage.commit([guarded({ compile: () => update.compile(storage.db) }, 'unchanged')])
    return true
  } catch (error) {
    // A running server has just written it, under the new key.
    if (error instanceof GuardFailedError) return false
    throw error
  }
}

/** Returns how many rows were sealed anew. */
export const resealEverything = async (storage: Storage, keyring: Keyring): Promise<number> => {
  let changed = 0
  for (const column of sealedColumns) changed += await resealColumn(storage, keyring, column)
  return changed
}
