/**
 * A database that was restored by PostgreSQL's own means into another cluster: transactions count anew there, so that
 * events and the cursors of who follows them tell of transactions that are still to come. Before anything is written,
 * everything that is there is put before every transaction of this cluster, in the order of ids.
 */

import type pg from 'pg'
import type { RunSql } from '../migrate.ts'

const NEXT = 'pg_snapshot_xmax(pg_current_snapshot())'

const IS_FOREIGN = `select 1 where
  exists (select 1 from audit_events where xact >= ${NEXT}) or
  exists (select 1 from outbox_cursors where split_part(position, ':', 1)::xid8 > ${NEXT})`

/**
 * How far a follower of the audit table is, counted by ids alone: transactions mean nothing in another database. Rather
 * some events are told twice than one not at all.
 */
export async function portablePosition(
  client: Pick<pg.Client, 'query'>,
  position: unknown,
): Promise<string> {
  const [xact = '0', id = '0'] = String(position).split(':')
  const { rows } = await client.query<{ id: number }>(
    `select coalesce(
       (select min(id) - 1 from audit_events where (xact, id) > ($1::text::xid8, $2::bigint)),
       (select max(id) from audit_events), 0) as id`,
    [xact, id],
  )
  return `0:${rows[0]?.id ?? 0}`
}

/** `alone` runs a transaction that no other process's can overlap with. */
export async function adoptRestored(
  client: pg.Client,
  alone: <T>(work: (run: RunSql) => Promise<T>) => Promise<T>,
): Promise<boolean> {
  const isForeign = async (): Promise<boolean> => (await client.query(IS_FOREIGN)).rows.length > 0
  if (!(await isForeign())) return false
  return alone(async (run) => {
    await run('lock table audit_events, outbox_cursors in share row exclusive mode')
    if (!(await isForeign())) return false
    const cursors = await client.query<{ name: string; position: string }>(
      'select name, position from outbox_cursors',
    )
    for (const { name, position } of cursors.rows)
      await client.query('update outbox_cursors set position = $1 where name = $2', [
        await portablePosition(client, position),
        name,
      ])
    await run(`update audit_events set xact = '0' where xact <> '0'`)
    return true
  })
}
