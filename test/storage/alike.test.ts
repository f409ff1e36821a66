/** Lists of the same inserts that are committed at the same moment: each row is stored as given, and each list has its own outcome. */
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConstraintError, type Statement, type Storage } from '#server/storage/contract.ts'
import { joinAlike } from '#server/storage/postgres/alike.ts'
import { guarded, held, insertRows, statement, uncounted } from '#server/storage/statements.ts'
import { backends } from '../support/backends.ts'

const tokenRow = (id: string, more: object = {}) => ({
  id,
  realm: 'acme',
  purpose: 'scim' as const,
  hash: `hash of ${id}`,
  label: null,
  created_at: 1,
  expires_at: null,
  uses: null,
  remaining: null,
  ...more,
})

describe.each(backends)('lists of the same inserts on $name', (backend) => {
  let storage: Storage
  let close: () => Promise<void>
  beforeAll(async () => {
    const opened = await backend.open()
    storage = opened.storage
    close = opened.close
    const realm = { name: 'acme', revision: 1, seq: 1, created_at: 1 }
    await storage.commit(insertRows(storage.db, 'realms', [realm]))
  })
  afterAll(() => close())

  const labelled = async (prefix: string) =>
    storage.db
      .selectFrom('provisioning_tokens')
      .select(['id', 'label', 'expires_at', 'uses'])
      .where('id', 'like', `${prefix}%`)
      .orderBy('id')
      .execute()

  const insert = (id: string, more?: object): Statement[] =>
    insertRows(storage.db, 'provisioning_tokens', [tokenRow(id, more)])

  it('store every value as it was given', async () => {
    const labels = [
      '',
      'NULL',
      'null',
      '{}',
      '{"a","b"}',
      'a,b',
      '"',
      '\\',
      "'",
      'é\n\t',
      '$1',
      null,
    ]
    await Promise.all(
      labels.map((label, n) =>
        storage.commit(
          insert(`value-${String(n).padStart(2, '0')}`, { label, uses: n % 2 ? n : null }),
        ),
      ),
    )
    const rows = await labelled('value-')
    expect(rows.map(({ label }) => label)).toEqual(labels)
    expect(rows.map(({ uses }) => uses)).toEqual(labels.map((_, n) => (n % 2 ? n : null)))
    expect(rows.every(({ expires_at }) => expires_at === null)).toBe(true)
  })

  it('are written or refused each for itself', async () => {
    const outcomes = await Promise.allSettled(
      ['one-1', 'one-2', 'one-1', 'one-3'].map((id, n) =>
        storage.commit([
          ...insertRows(storage.db, 'meta', [{ name: `of list ${n}`, value: id }]),
          ...insert(id, { hash: `one ${n}` }),
        ]),
      ),
    )
    expect(outcomes.map(({ status }) => status).sort()).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
    ])
    const refused = outcomes.find((outcome) => outcome.status === 'rejected')
    expect(refused?.reason).toBeInstanceOf(ConstraintError)
    expect(refused?.reason).toMatchObject({ constraint: 'unique', table: 'provisioning_tokens' })
    expect((await labelled('one-')).map(({ id }) => id)).toEqual(['one-1', 'one-2', 'one-3'])
    const noted = await storage.db
      .selectFrom('meta')
      .select('name')
      .where('name', 'like', 'of list %')
      .execute()
    expect(noted).toHaveLength(3)
  })

  it('tell how many rows each wrote', async () => {
    const results = await Promise.all(
      [1, 2, 3].map((rows) =>
        storage.commit(
          insertRows(
            storage.db,
            'meta',
            Array.from({ length: rows }, (_, n) => ({ name: `count ${rows}-${n}`, value: '' })),
          ),
        ),
      ),
    )
    expect(results.map(([result]) => result?.count)).toEqual([1, 2, 3])
  })

  it('fail each for itself where no row may be new', async () => {
    const visit = (name: string): Statement => ({
      ...statement(
        storage.db
          .insertInto('meta')
          .values({ name, value: '' })
          .onConflict((conflict) => conflict.column('name').doNothing()),
      ),
      expect: { rows: 0, guard: 'known' },
    })
    await storage.commit(insertRows(storage.db, 'meta', [{ name: 'known', value: 'x' }]))
    const outcomes = await Promise.allSettled(
      ['known', 'new 1', 'known', 'new 2', 'known'].map((name, n) =>
        storage.commit([...insert(`visit-${n}`), visit(name)]),
      ),
    )
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect((await labelled('visit-')).map(({ id }) => id)).toEqual([
      'visit-0',
      'visit-2',
      'visit-4',
    ])
  })

  it('fail each for itself where a row must stay as it is', async () => {
    await storage.commit(
      insertRows(storage.db, 'meta', [
        { name: 'held 1', value: 'x' },
        { name: 'held 2', value: 'x' },
        { name: 'held 3', value: 'y' },
      ]),
    )
    const hold = (names: readonly string[]): Statement =>
      guarded(
        held(
          storage.dialect,
          storage.db
            .selectFrom('meta')
            .select('name')
            .where('name', 'in', [names[0] ?? '', names[1] ?? ''])
            .where('value', '=', 'x'),
        ),
        'still x',
      )
    const lists = [['held 1'], ['held 3'], ['held 1', 'held 2'], ['held 2'], ['gone'], ['held 1']]
    const outcomes = await Promise.allSettled(
      lists.map((names, n) => storage.commit([hold(names), ...insert(`held-${n}`)])),
    )
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ guard: 'still x' })
    expect((await labelled('held-')).map(({ id }) => id)).toEqual(['held-0', 'held-3', 'held-5'])
  })

  it('select for each list what it asks for, and for none what another asks for', async () => {
    await storage.commit(insertRows(storage.db, 'meta', [{ name: 'there', value: 'x' }]))
    const copy = (from: string, to: string): Statement =>
      uncounted(
        statement({
          compile: () =>
            sql`insert into meta (name, value) select ${to}, value from meta where name = ${from}
              on conflict (name) do nothing`.compile(storage.db),
        }),
      )
    const lists = ['there', 'nowhere', 'there', 'nowhere', 'there']
    await Promise.all(lists.map((from, n) => storage.commit([copy(from, `copy ${n % 4}`)])))
    const rows = await storage.db
      .selectFrom('meta')
      .selectAll()
      .where('name', 'like', 'copy %')
      .orderBy('name')
      .execute()
    expect(rows).toEqual([
      { name: 'copy 0', value: 'x' },
      { name: 'copy 2', value: 'x' },
    ])
  })
})

describe('joining', () => {
  const insert = (name: string, n: number): Statement => ({
    sql: 'insert into "a" ("name", "n") values ($1, $2)',
    parameters: [name, n],
  })
  const alone = (one: Statement): boolean =>
    joinAlike([[one], [one]]).statements.every((same) => same === one)

  it('makes one statement of the same inserts of several lists', () => {
    const { statements, resultsOf } = joinAlike([[insert('x', 1)], [insert('y', 2)]])
    expect(statements).toEqual([
      {
        sql: 'insert into "a" ("name", "n") select given.p1, given.p2 from unnest($1::text[], $2::bigint[]) as given(p1, p2)',
        parameters: [
          ['x', 'y'],
          [1, 2],
        ],
      },
    ])
    const one = { count: 1, rows: [] }
    expect(resultsOf([{ count: 2, rows: [] }])).toEqual([[one], [one]])
  })

  it('keeps a guard that no row is written, and none of another name', () => {
    const known = (guard: string): Statement => ({
      sql: `${insert('x', 1).sql} on conflict do nothing`,
      parameters: ['x', 1],
      expect: { rows: 0, guard },
    })
    const { statements, resultsOf } = joinAlike([[known('g')], [known('h')], [known('g')]])
    expect(statements.map(({ expect: guard, parameters }) => [guard, parameters])).toEqual([
      [
        { rows: 0, guard: 'g' },
        [
          ['x', 'x'],
          [1, 1],
        ],
      ],
      [{ rows: 0, guard: 'h' }, ['x', 1]],
    ])
    const none = { count: 0, rows: [] }
    expect(resultsOf([none, none])).toEqual([[none], [none], [none]])
  })

  it('counts the rows that are held for each list', () => {
    const hold = (name: string): Statement => ({
      sql: 'select "n" from "a" where "name" = $1 for no key update',
      parameters: [name],
      expect: { rows: 1, guard: 'g' },
    })
    const { statements, resultsOf } = joinAlike([[hold('x')], [hold('y')], [hold('x')]])
    expect(statements).toEqual([
      {
        sql: 'select "#" from (select given."#" from unnest($1::text[]) with ordinality as given(p1, "#") cross join lateral (select "n" from "a" where "name" = given.p1 for no key update) as found) as held group by "#" having count(*) = 1',
        parameters: [['x', 'y', 'x']],
        expect: { rows: 3, guard: 'g' },
      },
    ])
    const one = { count: 1, rows: [] }
    expect(resultsOf([{ count: 3, rows: [] }])).toEqual([[one], [one], [one]])
  })

  it.each([
    [
      'holds rows without a guard',
      { sql: 'select "n" from "a" where "name" = $1 for no key update', parameters: ['x'] },
    ],
    ['has a guard', { ...insert('x', 1), expect: { rows: 1, guard: 'g' } }],
    ['returns rows', { ...insert('x', 1), sql: `${insert('x', 1).sql} returning *` }],
    [
      'forgives conflicts and is counted',
      { ...insert('x', 1), sql: `${insert('x', 1).sql} on conflict do nothing` },
    ],
    ['computes', { sql: 'insert into "a" ("name") values (lower($1))', parameters: ['x'] }],
    [
      'uses a parameter twice',
      { sql: 'insert into "a" ("name", "n") values ($1, $1)', parameters: [1] },
    ],
    ['selects and is counted', { sql: 'insert into "a" ("n") select $1', parameters: [1] }],
    ['is an update', { sql: 'update "a" set "n" = $1', parameters: [1], uncounted: true as const }],
  ])('leaves a statement alone that %s', (_, statement) => {
    expect(alone(statement)).toBe(true)
  })
})
