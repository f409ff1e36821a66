/** Merging statements for group commit on PostgreSQL: what joins, what stays apart, and whose result is whose. */
import { describe, expect, it } from 'vitest'
import type { Statement } from '#server/storage/contract.ts'
import { announcement } from '#server/storage/postgres/listener.ts'
import { merge } from '#server/storage/postgres/merge.ts'

const insert = (table: string, ...parameters: unknown[]): Statement => {
  const names = parameters.map((_, n) => `$${n + 1}`)
  const columns = parameters.map((_, n) => `"c${n}"`)
  const sql = `insert into "${table}" (${columns.join(', ')}) values (${names.join(', ')})`
  return { sql, parameters }
}
const remove: Statement = { sql: 'delete from "a" where "c0" = $1 returning *', parameters: [1] }
const guard = (id: string): Statement => ({
  sql: 'select "id" from "users" where "id" = $1 for no key update',
  parameters: [id],
  expect: { rows: 1, guard: `user:${id}` },
})
const two = { count: 2, rows: [] }
const texts = (list: readonly Statement[]): string[] => merge(list).statements.map(({ sql }) => sql)

describe('merging', () => {
  it('joins inserts of the same text, also across other inserts, in their order', () => {
    const list = [insert('a', 1, 'x'), insert('b', 2), insert('a', 3, 'y'), insert('b', 4)]
    expect(merge(list).statements).toEqual([
      {
        sql: 'insert into "a" ("c0", "c1") values ($1, $2), ($3, $4)',
        parameters: [1, 'x', 3, 'y'],
      },
      { sql: 'insert into "b" ("c0") values ($1), ($2)', parameters: [2, 4] },
    ])
  })

  it('moves nothing past a statement that is not a plain insert', () => {
    const list = [insert('a', 1), remove, insert('a', 1)]
    expect(merge(list).statements).toEqual(list)
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
    expect(merge([statement, statement]).statements).toEqual([statement, statement])
  })

  it('makes one of guards of the same text, behind inserts into other tables', () => {
    const list = [guard('u1'), insert('sessions', 1), guard('u2'), insert('sessions', 2)]
    const { statements, split } = merge(list)
    expect(statements).toEqual([
      { sql: 'insert into "sessions" ("c0") values ($1), ($2)', parameters: [1, 2] },
      {
        sql: expect.stringContaining('lateral (select "id" from "users" where "id" = given.p1'),
        parameters: [['u1', 'u2']],
      },
    ])
    const rows = [
      { '#': 2, id: 'u2' },
      { '#': 1, id: 'u1' },
    ]
    expect(split([two, { count: 2, rows }]).map((result) => result.rows)).toEqual([
      [{ id: 'u1' }],
      [],
      [{ id: 'u2' }],
      [],
    ])
  })

  it('says which guard of those that are one did not hold, also where the number of rows is right', () => {
    const { split } = merge([guard('u1'), guard('u2')])
    const twice = [
      { '#': 2, id: 'u2' },
      { '#': 2, id: 'u2' },
    ]
    expect(() => split([{ count: 2, rows: twice }])).toThrow('"user:u1" did not hold')
  })

  it.each([
    ['looks at what is inserted', [insert('users', 1), guard('u1'), insert('users', 2)]],
    ['comes before an insert that it must not see', [guard('u1'), insert('users', 1), guard('u1')]],
    ['has another statement before the next', [guard('u1'), remove, guard('u2')]],
    ['has no value', [{ ...guard('u1'), parameters: [null] }, guard('u1')]],
  ])('leaves a guard alone that %s', (_, list) => {
    expect(merge(list).statements).toEqual(list)
  })

  it('gives each statement its own result back', () => {
    const { split } = merge([insert('a', 1), remove, insert('a', 2), insert('a', 3)])
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
    const { statements, split } = merge(list)
    const inserted = {
      sql: 'insert into "a" ("c0") values ($1), ($2), ($3)',
      parameters: [1, 2, 3],
    }
    expect(statements).toEqual([inserted, jobs, realm])
    expect(split(statements.map(() => ({ count: 1, rows: [] })))).toHaveLength(list.length)
  })

  it('never makes a statement with more parameters than the protocol can count', () => {
    const wide = insert('a', ...Array.from({ length: 1_000 }, (_, n) => n))
    const merged = merge(Array.from({ length: 130 }, () => wide))
    expect(merged.statements.map(({ parameters }) => parameters.length)).toEqual([
      60_000, 60_000, 10_000,
    ])
    expect(texts([])).toEqual([])
  })
})
