/** Queries and statements that are compiled once take other values each time, on both databases. */

import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Storage } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { backends } from '../support/backends.ts'

const find = preparedQuery('test-meta', (db, { name }: { name: string }) =>
  db.selectFrom('meta').select(['name', 'value']).where('name', '=', name),
)
const fromTheEnd = preparedQuery(
  'test-meta-from-the-end',
  (db, { suffix, length }: { suffix: string; length: number }) =>
    db
      .selectFrom('meta')
      .select('name')
      .where(sql<boolean>`length(name) < ${length}`)
      .where(sql<boolean>`substr(name, 2) = ${suffix}`)
      .orderBy('name', 'desc'),
)
const put = preparedStatement((db, { name, value }: { name: string; value: string }) =>
  db.insertInto('meta').values({ name, value }),
)
const change = preparedStatement(
  (db, { name, value }: { name: string; value: string }) =>
    db.updateTable('meta').set({ value }).where('name', '=', name).where('value', '<>', 'fixed'),
  { rows: 1, guard: 'meta' },
)

describe.each(backends)('prepared on $name', (backend) => {
  let storage: Storage
  let close: () => Promise<void>
  beforeAll(async () => {
    const opened = await backend.open()
    storage = opened.storage
    close = opened.close
  })
  afterAll(() => close())

  it('statements and queries take other values at each use', async () => {
    await storage.commit([
      put(storage.db, { name: 'one', value: 'a' }),
      put(storage.db, { name: 'two', value: 'b' }),
    ])
    await storage.commit([change(storage.db, { name: 'two', value: 'c' })])
    expect(await find(storage.db, { name: 'one' })).toEqual([{ name: 'one', value: 'a' }])
    expect(await find(storage.db, { name: 'two' })).toEqual([{ name: 'two', value: 'c' }])
    expect(await find(storage.db, { name: 'three' })).toEqual([])
  })

  it('queries see what was written before, and within a transaction what it sees', async () => {
    await storage.commit([put(storage.db, { name: 'four', value: 'd' })])
    const seen = await storage.db.transaction().execute((own) => find(own, { name: 'four' }))
    expect(seen).toEqual(await find(storage.db, { name: 'four' }))
    expect(seen).toEqual([{ name: 'four', value: 'd' }])
  })

  it('queries refuse a value that no database takes, and go on', async () => {
    await expect(find(storage.db, { name: 'no\u0000body' })).rejects.toThrow()
    expect(await find(storage.db, { name: 'nobody' })).toEqual([])
  })

  it('queries asked at the same moment have each its own answer', async () => {
    const odd = ['a"b', 'c\\d', '{e,f}', 'NULL', '', ' ', '$1']
    await storage.commit(odd.map((name) => put(storage.db, { name, value: `of ${name}` })))
    const names = [...odd, 'nobody', ...odd]
    const rows = await Promise.all(names.map((name) => find(storage.db, { name })))
    expect(rows).toEqual(
      names.map((name) => (name === 'nobody' ? [] : [{ name, value: `of ${name}` }])),
    )
  })

  it('queries asked beside one that no database takes are answered', async () => {
    const [one, none] = await Promise.allSettled([
      find(storage.db, { name: 'one' }),
      find(storage.db, { name: 'no\u0000body' }),
    ])
    expect(one).toMatchObject({ status: 'fulfilled', value: [{ value: 'a' }] })
    expect(none.status).toBe('rejected')
  })

  it('queries with numbers have several rows or none each, in their order', async () => {
    await storage.commit(
      ['x', 'y', 'z'].map((name) => put(storage.db, { name: `${name} row`, value: '1' })),
    )
    const answers = await Promise.all(
      [1, 3, 9].map((length) => fromTheEnd(storage.db, { suffix: ' row', length })),
    )
    expect(answers.map((rows) => rows.map(({ name }) => name))).toEqual([
      [],
      [],
      ['z row', 'y row', 'x row'],
    ])
  })

  it('statements keep what was written into them and their guard', async () => {
    await storage.commit([put(storage.db, { name: 'three', value: 'fixed' })])
    const changed = storage.commit([change(storage.db, { name: 'three', value: 'c' })])
    await expect(changed).rejects.toMatchObject({ guard: 'meta' })
  })
})
