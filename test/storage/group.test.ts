/** Group commit on SQLite after a failure of the database: writes that were reported as done are stored. */
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Statement } from '#server/storage/contract.ts'
import { runGroup, type WriteConnection, writeConnection } from '#server/storage/sqlite/group.ts'
import type { Job } from '#server/storage/sqlite/messages.ts'

const insert = (name: string, verb = 'insert'): Statement => ({
  sql: `${verb} into t values (?, ?)`,
  parameters: [name, null],
})
const jobs = (...lists: Statement[][]): Job[] =>
  lists.map((statements, index) => ({ id: index + 1, statements }))

describe('a group of writes', () => {
  let database: DatabaseSync
  let connection: WriteConnection
  const stored = (): unknown[] =>
    database
      .prepare('select name from t order by rowid')
      .all()
      .map((row) => row['name'])

  beforeEach(() => {
    database = new DatabaseSync(':memory:')
    database.exec('create table t (name text primary key, parent text references t (name)) strict')
    connection = writeConnection(database)
  })
  afterEach(() => database.close())

  it('reports the jobs before a lost transaction as not written, and goes on with those after it', () => {
    runGroup(connection, jobs([insert('taken')]))
    const outcomes = runGroup(
      connection,
      jobs(
        [insert('a')],
        [insert('b'), insert('c')],
        [insert('taken', 'insert or rollback')],
        [insert('d')],
      ),
    )
    expect(outcomes).toEqual([
      { id: 1, failure: expect.objectContaining({ kind: 'unavailable' }) },
      { id: 2, failure: expect.objectContaining({ kind: 'unavailable' }) },
      { id: 3, failure: expect.objectContaining({ kind: 'constraint', table: 't' }) },
      { id: 4, results: [{ count: 1, rows: [] }] },
    ])
    expect(stored()).toEqual(['taken', 'd'])
  })

  it('reports every job as not written when the commit is refused, and is ready for the next', () => {
    const orphan = { sql: 'insert into t values (?, ?)', parameters: ['orphan', 'nobody'] }
    const later = { sql: 'pragma defer_foreign_keys = on', parameters: [] }
    const outcomes = runGroup(connection, jobs([insert('a')], [later, orphan], [insert('b')]))
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ failure: { kind: 'unavailable' } })
    }
    expect(stored()).toEqual([])
    runGroup(connection, jobs([insert('next')]))
    expect(stored()).toEqual(['next'])
  })

  it('keeps exactly what it reports as written when the disk is full', () => {
    database.exec('pragma max_page_count = 40')
    const big = (name: string): Statement[] => [
      insert(name),
      { sql: `insert into t values (?, ?)`, parameters: [`${name}-${'x'.repeat(20_000)}`, null] },
    ]
    const names = Array.from({ length: 30 }, (_, n) => `n${n}`)
    const outcomes = runGroup(connection, jobs(...names.map(big)))
    const written = names.filter((_, n) => 'results' in (outcomes[n] ?? {}))
    expect(written.length).toBeLessThan(30)
    expect(stored().filter((name) => String(name).length < 10)).toEqual(written)
  })
})
