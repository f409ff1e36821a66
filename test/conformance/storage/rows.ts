/** Rows and statements that the storage tests write. */
import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Statement } from '#server/storage/contract.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { AuditEventRow, DocumentRow, RealmRow, Tables } from '#server/storage/tables/tables.ts'

type Db = Kysely<Tables>

export const realmRow = (name: string): RealmRow => ({ name, revision: 0, seq: 0, created_at: 1 })

export const documentRow = (realm: string, key: string): DocumentRow => ({
  id: randomUUID(),
  realm,
  kind: 'webhook',
  key,
  parent_id: null,
  origin: 'manual',
  owner: null,
  version: 1,
  hash: 'h',
  body: '{}',
  sealed: null,
  created_at: 1,
  updated_at: 1,
  protected: 0,
})

export const eventRow = (realm: string, type: string): Omit<AuditEventRow, 'id'> => ({
  event_id: randomUUID(),
  realm,
  at: 1,
  category: 'ADMIN',
  type,
  actor: 'somebody',
  source_ip: '127.0.0.1',
  resource_type: null,
  resource_id: null,
  outcome: 'SUCCESS',
  detail: null,
  revision: null,
})

export const insertRealm = (db: Db, name: string): Statement =>
  statement(db.insertInto('realms').values(realmRow(name)))

export const insertDocuments = (db: Db, rows: readonly DocumentRow[]): Statement[] =>
  insertRows(db, 'documents', rows)

/** A row of the plainest table. */
export const insertMeta = (db: Db, name: string, value: string): Statement =>
  statement(db.insertInto('meta').values({ name, value }))

export const realmNames = async (db: Db): Promise<string[]> => {
  const rows = await db.selectFrom('realms').select('name').orderBy('name').execute()
  return rows.map(({ name }) => name)
}

export const metaNames = async (db: Db): Promise<string[]> => {
  const rows = await db.selectFrom('meta').select('name').orderBy('name').execute()
  return rows.map(({ name }) => name)
}
