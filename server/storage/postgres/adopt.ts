/**
 * A database that was restored with PostgreSQL tools into another cluster: transaction ids restart there, so that stored events
 * and cursors refer to future transactions. Before the first write all stored events are placed before every transaction of
 * this cluster, in the order of ids.
 */

import type pg from 'pg'
import type { RunSql } from '../migrate.ts'

const NEXT = 'pg_snapshot_xmax(pg_current_snapshot())'

const IS_FOREIGN = `select 1 where
  exists (select 1 from audit_events where xact >= ${NEXT}) or
  exists (select 1 from outbox_cursors where split_part(position, ':', 1)::xid8 > ${NEXT})`

/**
 * The position of a follower of the audit table by ids only: transaction ids mean nothing in another database. Some events may
 * be delivered twice, but none is lost.
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
