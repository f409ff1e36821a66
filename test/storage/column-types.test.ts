/**
 * A backup of PostgreSQL supports columns of text and whole numbers; a column of another type would be missing from it
 * without an error.
 */
import pg from 'pg'
import { expect, inject, it } from 'vitest'
import { openStorage } from '#server/storage/open.ts'
import { createDatabase } from '../support/processes/postgres.ts'

it('has no column that a backup would leave out', async () => {
  const url = await createDatabase(inject('postgresUrl'), `types_${process.pid}`)
  await (await openStorage({ url })).close()
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(
    `select table_name, column_name, data_type from information_schema.columns
     where table_schema = current_schema() and data_type not in ('text', 'bigint', 'xid8')`,
  )
  await client.end()
  expect(rows).toEqual([])
})
