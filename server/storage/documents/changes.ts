/** The log of what changed in a realm, which every node's copy follows. */

import { sql } from 'kysely'
import type { Statement, Storage } from '../contract.ts'
import { guarded, inSlices, statement } from '../statements.ts'

/** A node that is further behind than this discards its copy and reads all documents again. */
const keptChanges = 1000

/** The log takes the current sequence number of the realm's row. */
export const changeStatements = (
  { db }: Storage,
  realm: string,
  places: readonly { kind: string; key: string }[],
): Statement[] => {
  const unique = [...new Map(places.map((at) => [`${at.kind}\n${at.key}`, at])).values()]
  const entries = inSlices(unique).map((part) =>
    statement({
      compile: () =>
        sql`with touched (kind, key) as (values ${sql.join(
          part.map(({ kind, key }) => sql`(${kind}, ${key})`),
        )})
        insert into changes (realm, seq, kind, key)
        select realms.name, realms.seq, touched.kind, touched.key
        from realms, touched where realms.name = ${realm}`.compile(db),
    }),
  )
  const oldest = db
    .selectFrom('realms')
    .select((eb) => eb('seq', '-', keptChanges).as('seq'))
    .where('name', '=', realm)
  return [
    ...entries,
    statement(db.deleteFrom('changes').where('realm', '=', realm).where('seq', '<=', oldest)),
  ]
}

/** For cached data: increments the sequence number, logs the change, notifies other nodes. */
export const touchStatements = (
  storage: Storage,
  realm: string,
  places: readonly { kind: string; key: string }[],
): Statement[] => {
  const count = storage.db
    .updateTable('realms')
    .set((eb) => ({ seq: eb('seq', '+', 1) }))
    .where('name', '=', realm)
  const announcement = storage.announce(realm)
  return [
    statement(count, { rows: 1, guard: 'realm' }),
    ...changeStatements(storage, realm, places),
    ...(announcement ? [announcement] : []),
  ]
}

/**
 * After a write that counts the realm's sequence up: fails the guard where more documents of the kind have changed since the realm was at
 * `seq`, those of the write included, or where the log does not reach back so far.
 */
export const atMostChanges = (
  { db }: Pick<Storage, 'db'>,
  { realm, seq, kind }: { readonly realm: string; readonly seq: number; readonly kind: string },
  most: number,
  guard: string,
): Statement => {
  const changes = db
    .selectFrom('changes')
    .select(({ fn }) => fn.countAll<number>().as('changes'))
    .where('realm', '=', realm)
    .where('kind', '=', kind)
    .where('seq', '>', seq)
  return guarded(
    db
      .selectFrom('realms')
      .select('name')
      .where('name', '=', realm)
      .where('seq', '<=', seq + keptChanges)
      .where(({ eb }) => eb(changes, '<=', Math.min(most, Number.MAX_SAFE_INTEGER))),
    guard,
  )
}

/** Empties the log of a realm: every node that follows it reads the realm again. */
export const forgetChanges = ({ db }: Pick<Storage, 'db'>, realm: string): Statement =>
  statement(db.deleteFrom('changes').where('realm', '=', realm))
