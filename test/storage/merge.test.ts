/** Merging inserts for group commit on PostgreSQL: what joins, what stays apart, and whose result is whose. */
import { describe, expect, it } from 'vitest'
import type { Statement } from '#server/storage/contract.ts'
import { announcement } from '#server/storage/postgres/listener.ts'
import { mergeInserts } from '#server/storage/postgres/merge.ts'

const insert = (table: string, ...parameters: unknown[]): Statement => {
  const names = parameters.map((_, n) => `$${n + 1}`)
  const columns = parameters.map((_, n) => `"c${n}"`)
  const sql = `insert into "${table}" (${columns.join(', ')}) values (${names.join(', ')})`
  return { sql, parameters }
}
const remove: Statement = { sql: 'delete from "a" where "c0" = $1 returning *', parameters: [1] }
const texts = (list: readonly Statement[]): string[] =>
  mergeInserts(list).statements.map(({ sql }) => sql)

describe('merging inserts', () => {
  it('joins inserts of the same text, also across other inserts, in their order', () => {
    const list = [insert('a', 1, 'x'), insert('b', 2), insert('a', 3, 'y'), insert('b', 4)]
    expect(mergeInserts(list).statements).toEqual([
      {
        sql: 'insert into "a" ("c0", "c1") values ($1, $2), ($3, $4)',
        parameters: [1, 'x', 3, 'y'],
      },
      { sql: 'insert into "b" ("c0") values ($1), ($2)', parameters: [2, 4] },
    ])
  })

  it('moves nothing past a statement that is not a plain insert', () => {
    const list = [insert('a', 1), remove, insert('a', 1)]
    expect(mergeInserts(list).statements).toEqual(list)
  })

  it.each([
    ['has a guard', { ...insert('a', 1), expect: { rows: 1, guard: 'g' } }],
    ['returns rows', { ...insert('a', 1), sql: `${insert('a', 1).sql} returning *` }],
    [
      'forgives conflicts',
      { ...insert('a', 1), sql: `${insert('a', 1).sql} on conflict do nothing` },
    ],
    ['computes', { sql: 'insert into "a" ("c0") values (lower($1))', parameters: [1] }],
    [
      'uses a parameter twice',
      { sql: 'insert into "a" ("c0", "c1") values ($1, $1)', parameters: [1] },
    ],
    ['holds several rows', { sql: 'insert into "a" ("c0") values ($1), ($2)', parameters: [1, 2] }],
  ])('leaves an insert alone that %s', (_, statement) => {
    expect(mergeInserts([statement, statement]).statements).toEqual([statement, statement])
  })

  it('gives each statement its own result back', () => {
    const { split } = mergeInserts([insert('a', 1), remove, insert('a', 2), insert('a', 3)])
    const gone = { c0: 1 }
    expect(
      split([
        { count: 1, rows: [] },
        { count: 1, rows: [gone] },
        { count: 2, rows: [] },
      ]),
    ).toEqual([
      { count: 1, rows: [] },
      { count: 1, rows: [gone] },
      { count: 1, rows: [] },
      { count: 1, rows: [] },
    ])
  })

  it('makes one of equal announcements, and lets inserts pass them', () => {
    const [jobs, realm] = [announcement('jobs q'), announcement('acme')]
    const list = [insert('a', 1), jobs, insert('a', 2), realm, jobs, insert('a', 3)]
    const { statements, split } = mergeInserts(list)
    const inserted = {
      sql: 'insert into "a" ("c0") values ($1), ($2), ($3)',
      parameters: [1, 2, 3],
    }
    expect(statements).toEqual([inserted, jobs, realm])
    expect(split(statements.map(() => ({ count: 1, rows: [] })))).toHaveLength(list.length)
  })

  it('never makes a statement with more parameters than the protocol can count', () => {
    const wide = insert('a', ...Array.from({ length: 1_000 }, (_, n) => n))
    const merged = mergeInserts(Array.from({ length: 130 }, () => wide))
    expect(merged.statements.map(({ parameters }) => parameters.length)).toEqual([
      60_000, 60_000, 10_000,
    ])
    expect(texts([])).toEqual([])
  })
})
