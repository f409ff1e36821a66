/** The queries over documents. */

import { type Kysely, sql } from 'kysely'
import type { Statement, Storage } from '../contract.ts'
import { held, inSlices, statement } from '../statements.ts'
import type { DocumentRow, RealmRow, Tables } from '../tables/tables.ts'
import { refusal } from '../values.ts'
import { documentOf, type StoredDocument } from './document.ts'

/** What a query finds for any number of keys or ids. */
export const readInSlices = async <T, R>(
  values: readonly T[],
  query: (part: readonly T[]) => Promise<R[]>,
): Promise<R[]> => {
  const found: R[][] = []
  for (const part of inSlices(values)) found.push(await query(part))
  return found.flat()
}

/** Nothing has a key that could not be stored, and a database fails when it is asked for one. */
export const isStorable = (key: string): boolean => refusal(key) === undefined

export const realmRow = (db: Kysely<Tables>, realm: string): Promise<RealmRow | undefined> =>
  db.selectFrom('realms').selectAll().where('name', '=', realm).executeTakeFirst()

const documents = (db: Kysely<Tables>) => db.selectFrom('documents').selectAll()

export const rowsByKeys = (
  db: Kysely<Tables>,
  realm: string,
  kind: string,
  keys: readonly string[],
): Promise<DocumentRow[]> =>
  readInSlices(keys.filter(isStorable), (part) =>
    documents(db)
      .where('realm', '=', realm)
      .where('kind', '=', kind)
      .where('key', 'in', part)
      .execute(),
  )

export const byIds = async (
  db: Kysely<Tables>,
  realm: string,
  ids: readonly string[],
): Promise<StoredDocument[]> =>
  (
    await readInSlices(ids, (part) =>
      documents(db).where('realm', '=', realm).where('id', 'in', part).execute(),
    )
  ).map(documentOf)

/** All documents of a kind, in the order of their keys; a page of them where one is asked for. */
export const ofKind = async (
  db: Kysely<Tables>,
  realm: string,
  kind: string,
  page: { parentId?: string; first?: number; max?: number } = {},
): Promise<DocumentRow[]> => {
  let query = documents(db).where('realm', '=', realm).where('kind', '=', kind)
  if (page.parentId !== undefined) query = query.where('parent_id', '=', page.parentId)
  query = query.orderBy('key')
  if (page.max !== undefined) query = query.limit(page.max)
  if (page.first !== undefined) query = query.limit(page.max ?? 1_000_000_000).offset(page.first)
  return query.execute()
}

/** Whether any realm has a document of the kind, which is a literal in the text as in a partial index. */
export const isAnyOfKind = async (db: Kysely<Tables>, kind: string): Promise<boolean> => {
  const query = sql`select 1 from documents where kind = ${sql.lit(kind)} limit 1`
  return (await query.execute(db)).rows.length > 0
}

/** Realms that have documents of the kind. */
export const realmsWith = async (db: Kysely<Tables>, kind: string): Promise<string[]> => {
  const rows = await db
    .selectFrom('documents')
    .select('realm')
    .distinct()
    .where('kind', '=', kind)
    .orderBy('realm')
    .execute()
  return rows.map(({ realm }) => realm)
}

export const countOfKind = async (
  db: Kysely<Tables>,
  realm: string,
  kind: string,
): Promise<number> => {
  const { count } = await db
    .selectFrom('documents')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('realm', '=', realm)
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The documents right below these. */
export const childrenOf = async (
  db: Kysely<Tables>,
  parentIds: readonly string[],
): Promise<StoredDocument[]> =>
  (
    await readInSlices(parentIds, (part) => documents(db).where('parent_id', 'in', part).execute())
  ).map(documentOf)

/** The documents that refer to one of these. */
export const referrersOf = async (
  db: Kysely<Tables>,
  toIds: readonly string[],
): Promise<StoredDocument[]> =>
  (
    await readInSlices(toIds, (part) =>
      documents(db)
        .where('id', 'in', (eb) =>
          eb.selectFrom('document_refs').select('from_id').where('to_id', 'in', part),
        )
        .execute(),
    )
  ).map(documentOf)

/** Other writes that hold the document come before or after. */
export const holdDocument = (
  { db, dialect }: Pick<Storage, 'db' | 'dialect'>,
  id: string,
): Statement =>
  statement(held(dialect, db.selectFrom('documents').select('id').where('id', '=', id)))
