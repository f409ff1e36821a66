/** The storage contract as tests. `storage.test.ts` runs them on each database. */
import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  ConstraintError,
  GuardFailedError,
  type Storage,
  StorageUnavailableError,
} from '#server/storage/contract.ts'
import { guarded, insertRows, statement, take } from '#server/storage/statements.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import type { OpenBackend } from '../support/backends.ts'
import {
  documentRow,
  eventRow,
  insertDocuments,
  insertMeta,
  insertRealm,
  metaNames,
  realmNames,
  realmRow,
} from './storage/rows.ts'

const outcomes = async (work: readonly Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.allSettled(work)).map((one) =>
    one.status === 'fulfilled' ? 'written' : one.reason,
  )

export const storageSuite = (name: string, open: () => Promise<OpenBackend>): void => {
  describe(`storage on ${name}`, () => {
    let backend: OpenBackend
    let storage: Storage
    let db: Kysely<Tables>

    beforeAll(async () => {
      backend = await open()
      storage = backend.storage
      db = storage.db
    })
    afterAll(() => backend.close())
    beforeEach(async () => {
      await storage.commit([
        statement(db.deleteFrom('document_refs')),
        statement(db.deleteFrom('realms')),
        statement(db.deleteFrom('meta')),
        statement(db.deleteFrom('audit_events')),
      ])
    })

    describe('long reads', () => {
      it('see what is committed, write nothing, and let short reads pass', async () => {
        const { longReads } = storage
        await storage.commit([insertRealm(db, 'a'), insertRealm(db, 'b')])
        expect(await realmNames(longReads)).toEqual(['a', 'b'])
        await expect(longReads.deleteFrom('realms').execute()).rejects.toThrow()
        expect(await realmNames(db)).toEqual(['a', 'b'])
        const answered: string[] = []
        const count = sql`with recursive n (i) as
          (select 1 union all select i + 1 from n where i < 1000000) select count(*) as c from n`
        await Promise.all([
          count.execute(longReads).then(() => answered.push('long')),
          realmNames(db).then(() => answered.push('short')),
        ])
        expect(answered).toEqual(['short', 'long'])
      })
    })

    describe.each(['commit', 'append'] as const)('%s', (method) => {
      it('writes all statements of a list or none', async () => {
        const list = [insertRealm(db, 'a'), insertRealm(db, 'b'), insertRealm(db, 'a')]
        await expect(storage[method](list)).rejects.toBeInstanceOf(ConstraintError)
        expect(await realmNames(db)).toEqual([])
        await storage[method](list.slice(0, 2))
        expect(await realmNames(db)).toEqual(['a', 'b'])
      })

      it('rolls everything back when a guard does not hold, and names the guard', async () => {
        await storage.commit([insertRealm(db, 'a')])
        const raise = db.updateTable('realms').set({ revision: 1 }).where('name', '=', 'a')
        const list = [
          insertRealm(db, 'b'),
          guarded(raise, 'first'),
          guarded(raise.where('revision', '=', 7), 'second'),
          guarded(raise.where('revision', '=', 8), 'third'),
        ]
        const error = await storage[method](list).catch((reason: unknown) => reason)
        expect(error).toBeInstanceOf(GuardFailedError)
        expect(error).toMatchObject({ guard: 'second' })
        const rows = await db.selectFrom('realms').select(['name', 'revision']).execute()
        expect(rows).toEqual([{ name: 'a', revision: 0 }])
      })

      it('names the guard that did not hold also where what follows breaks a rule', async () => {
        await storage.commit([insertRealm(db, 'a')])
        const raise = db.updateTable('realms').set({ revision: 1 }).where('revision', '=', 7)
        const list = [guarded(raise, 'revision'), insertRealm(db, 'a')]
        await expect(storage[method](list)).rejects.toMatchObject({ guard: 'revision' })
        await expect(storage[method](list.toReversed())).rejects.toBeInstanceOf(ConstraintError)
      })

      it('counts changed and returned rows, and returns the latter', async () => {
        const results = await storage[method]([
          insertRealm(db, 'a'),
          statement(db.insertInto('realms').values(realmRow('b')).returning(['name', 'revision'])),
          statement(db.updateTable('realms').set({ seq: 5 })),
          statement(db.updateTable('realms').set({ seq: 6 }).where('name', '=', 'none')),
          statement(
            db
              .insertInto('realms')
              .values(realmRow('a'))
              .onConflict((c) => c.doNothing()),
          ),
          statement(db.deleteFrom('realms').where('seq', '=', 5).returning('name')),
        ])
        expect(results.map(({ count }) => count)).toEqual([1, 1, 2, 0, 0, 2])
        expect(results.map(({ rows }) => rows.length)).toEqual([0, 1, 0, 0, 0, 2])
        expect({ ...results[1]?.rows[0] }).toEqual({ name: 'b', revision: 0 })
      })

      it('is visible to reads as soon as it resolves', async () => {
        for (let n = 0; n < 20; n += 1) {
          await storage[method]([insertMeta(db, `m${n}`, 'x')])
          expect(await metaNames(db)).toHaveLength(n + 1)
        }
      })

      it('gives one single-use row to exactly one of 50 callers', async () => {
        await storage.commit([insertMeta(db, 'code', 'once')])
        const taken = await Promise.all(
          Array.from({ length: 50 }, () => storage[method]([take(db, 'meta', { name: 'code' })])),
        )
        const rows = taken.flatMap(([result]) => result?.rows ?? [])
        expect(rows.map((row) => ({ ...row }))).toEqual([{ name: 'code', value: 'once' }])
      })

      it('lets exactly one of 50 guarded callers go on after taking a single-use row', async () => {
        await storage.commit([insertMeta(db, 'code', 'once')])
        const calls = Array.from({ length: 50 }, (_, n) =>
          storage[method]([
            insertMeta(db, `token${n}`, 'x'),
            take(db, 'meta', { name: 'code' }, 'unused'),
          ]),
        )
        const results = await outcomes(calls)
        expect(results.filter((result) => result === 'written')).toHaveLength(1)
        expect(results.filter((result) => result instanceof GuardFailedError)).toHaveLength(49)
        expect(await metaNames(db)).toHaveLength(1)
      })

      it('fails only the conflicting ones of 200 parallel lists', async () => {
        await storage.commit([insertMeta(db, 'taken', 'x')])
        const conflicts = (n: number): boolean => n % 40 === 7
        const results = await outcomes(
          Array.from({ length: 200 }, (_, n) =>
            storage[method]([
              insertMeta(db, `own${n}`, 'x'),
              insertMeta(db, conflicts(n) ? 'taken' : `more${n}`, 'x'),
            ]),
          ),
        )
        for (const [n, result] of results.entries()) {
          if (conflicts(n)) expect(result).toBeInstanceOf(ConstraintError)
          else expect(result).toBe('written')
        }
        expect(await metaNames(db)).toHaveLength(195 * 2 + 1)
      })

      it('refuses a value that the databases would store differently, and writes nothing', async () => {
        const refused: unknown[] = [
          new Date(0),
          {},
          [1],
          undefined,
          () => {},
          1.5,
          Number.NaN,
          2 ** 53,
          2n ** 53n,
          'nul \0 character',
          'half a pair \ud800',
        ]
        for (const value of refused) {
          const insert = insertMeta(db, 'a', 'b')
          const list = [insertMeta(db, 'fine', 'x'), { ...insert, parameters: ['a', value] }]
          await expect(storage[method](list), String(value)).rejects.toThrow(TypeError)
        }
        expect(await metaNames(db)).toEqual([])
      })

      it('takes an empty list as done', async () => {
        expect(await storage[method]([])).toEqual([])
      })
    })

    it('names the table of a unique rule', async () => {
      await storage.commit([insertRealm(db, 'a'), ...insertDocuments(db, [documentRow('a', 'k')])])
      const again = storage.commit(insertDocuments(db, [documentRow('a', 'k')]))
      await expect(again).rejects.toMatchObject({ constraint: 'unique', table: 'documents' })
    })

    it('names the table of a foreign key when the row it refers to is missing', async () => {
      const orphan = storage.commit(insertDocuments(db, [documentRow('nowhere', 'k')]))
      await expect(orphan).rejects.toBeInstanceOf(ConstraintError)
      await expect(orphan).rejects.toMatchObject({ constraint: 'foreign-key', table: 'documents' })
    })

    it('names the referring table of a foreign key when the row it refers to is deleted', async () => {
      const [from, to] = [documentRow('a', 'from'), documentRow('a', 'to')]
      await storage.commit([
        insertRealm(db, 'a'),
        ...insertDocuments(db, [from, to]),
        ...insertRows(db, 'document_refs', [{ from_id: from.id, path: '/x', to_id: to.id }]),
      ])
      const refused = storage.commit([
        statement(db.deleteFrom('documents').where('key', '=', 'to')),
      ])
      await expect(refused).rejects.toMatchObject({
        constraint: 'foreign-key',
        table: 'document_refs',
      })
      await storage.commit([statement(db.deleteFrom('documents').where('key', '=', 'from'))])
      expect(await db.selectFrom('document_refs').selectAll().execute()).toEqual([])
    })

    it('deletes a realm with all its rows, the references between its documents first', async () => {
      const documents = ['a', 'b', 'c'].map((key) => documentRow('a', key))
      const ids = documents.map(({ id }) => id)
      const refs = ids.flatMap((from_id) => ids.map((to_id) => ({ from_id, path: '/x', to_id })))
      await storage.commit([
        insertRealm(db, 'a'),
        ...insertDocuments(db, documents),
        ...insertRows(db, 'document_refs', refs),
      ])
      const ofRealm = db.selectFrom('documents').select('id').where('realm', '=', 'a')
      await storage.commit([
        statement(db.deleteFrom('document_refs').where('from_id', 'in', ofRealm)),
        guarded(db.deleteFrom('realms').where('name', '=', 'a'), 'realm'),
      ])
      expect(await db.selectFrom('documents').selectAll().execute()).toEqual([])
    })

    it('never quotes stored values in an error', async () => {
      const secret = 'a-value-nobody-should-log'
      await storage.commit([insertMeta(db, secret, secret)])
      const error = await storage.commit([insertMeta(db, secret, secret)]).catch((e: unknown) => e)
      expect(error).toBeInstanceOf(ConstraintError)
      const { cause, message, ...rest } = error as ConstraintError
      const told = [message, JSON.stringify(rest), String(cause), JSON.stringify(cause)].join('\n')
      expect(told).not.toContain(secret)
    })

    it('loses none of 100 parallel compare-and-swap increments', async () => {
      await storage.commit([insertRealm(db, 'a')])
      const revision = async (): Promise<number> =>
        (await db.selectFrom('realms').select('revision').executeTakeFirstOrThrow()).revision
      const increment = async (): Promise<void> => {
        for (;;) {
          const seen = await revision()
          const swap = db
            .updateTable('realms')
            .set({ revision: seen + 1 })
            .where('revision', '=', seen)
          try {
            await storage.commit([guarded(swap, 'revision')])
            return
          } catch (error) {
            if (!(error instanceof GuardFailedError)) throw error
          }
        }
      }
      await Promise.all(Array.from({ length: 100 }, increment))
      expect(await revision()).toBe(100)
    })

    it('returns every value as it was stored', async () => {
      const texts = [
        '',
        ' ',
        '1',
        '1.0',
        '007',
        'null',
        'true',
        'Ünïcödé ẞ',
        '日本語 🧑‍🚀 \u{10ffff}',
        'e\u0301 is not é',
        'line\r\nbreak\ttab',
        `'"\\%_$1?`,
        'x'.repeat(1024 * 1024),
      ]
      const rows = texts.map((value, n) => ({ name: `t${String(n).padStart(2, '0')}`, value }))
      await storage.commit(insertRows(db, 'meta', rows))
      const stored = await db.selectFrom('meta').selectAll().orderBy('name').execute()
      expect(stored.map(({ value }) => value)).toEqual(texts)

      const numbers = [0, 1, -1, 2 ** 31, 2 ** 53 - 1, -(2 ** 53 - 1)]
      const realms = numbers.map((seq, n) => ({ ...realmRow(`r${n}`), seq }))
      await storage.commit(insertRows(db, 'realms', realms))
      const read = await db.selectFrom('realms').select('seq').orderBy('name').execute()
      expect(read.map(({ seq }) => seq)).toEqual(numbers)

      const nothing = { ...eventRow('r0', 'NULLS'), detail: null }
      await storage.append(insertRows(db, 'audit_events', [nothing]))
      const [event] = await db.selectFrom('audit_events').selectAll().execute()
      expect(event).toMatchObject(nothing)
    })

    it('stores a boolean as 0 or 1, and reads counts, sums and truth values as numbers', async () => {
      const insert = insertRealm(db, 'a')
      await storage.commit([
        { ...insert, parameters: ['a', true, false, 2n] },
        { ...insert, parameters: ['b', 1, 0, 3] },
      ])
      const rows = await db.selectFrom('realms').select(['revision', 'seq']).execute()
      expect(rows).toEqual([
        { revision: 1, seq: 0 },
        { revision: 1, seq: 0 },
      ])
      const summary = await db
        .selectFrom('realms')
        .select((eb) => [
          eb.fn.countAll().as('count'),
          eb.fn.sum('created_at').as('sum'),
          sql`max(name) = 'b'`.as('truth'),
        ])
        .executeTakeFirstOrThrow()
      expect({ ...summary }).toEqual({ count: 2, sum: 5, truth: 1 })
    })

    it('orders and compares text by its bytes', async () => {
      const names = ['D', 'a', 'b', 'C', '_', '-', 'é', 'z', '日', '🧑', '\uffee']
      await storage.commit(insertRows(db, 'realms', names.map(realmRow)))
      const byBytes = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      expect(await realmNames(db)).toEqual(byBytes)
      const range = await db.selectFrom('realms').select('name').where('name', '>', 'a').execute()
      expect(range).toHaveLength(6)
    })

    it('numbers events upwards and never gives a number again', async () => {
      const append = async (): Promise<number> => {
        await storage.append(insertRows(db, 'audit_events', [eventRow('a', 'X')]))
        const last = await db
          .selectFrom('audit_events')
          .select('id')
          .orderBy('id', 'desc')
          .executeTakeFirstOrThrow()
        return last.id
      }
      const first = await append()
      const second = await append()
      expect(second).toBeGreaterThan(first)
      await storage.commit([statement(db.deleteFrom('audit_events'))])
      expect(await append()).toBeGreaterThan(second)
    })

    it('commits 100,000 statements as one list', async () => {
      const template = insertMeta(db, 'a', 'b')
      const list = Array.from({ length: 100_000 }, (_, n) => ({
        ...template,
        parameters: [`n${n}`, 'x'],
      }))
      const results = await storage.commit(list)
      expect(results).toHaveLength(100_000)
      const { count } = await db
        .selectFrom('meta')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      expect(count).toBe(100_000)
    }, 60_000)

    it('inserts any number of rows, whatever the order of their columns', async () => {
      const rows = Array.from({ length: 3_001 }, (_, n) =>
        n % 2 === 0 ? { name: `n${n}`, value: `v${n}` } : { value: `v${n}`, name: `n${n}` },
      )
      await storage.commit(insertRows(db, 'meta', rows))
      const stored = await db.selectFrom('meta').selectAll().execute()
      expect(stored).toHaveLength(3_001)
      expect(stored.filter(({ name, value }) => name.slice(1) !== value.slice(1))).toEqual([])
      expect(insertRows(db, 'meta', [])).toEqual([])
    })

    it('refuses to take rows without a condition', () => {
      expect(() => take(db, 'meta', {})).toThrow(TypeError)
    })

    it('reads one snapshot within a transaction, while others write', async () => {
      await storage.commit([insertRealm(db, 'a')])
      await db
        .transaction()
        .setIsolationLevel('repeatable read')
        .execute(async (snapshot) => {
          expect(await realmNames(snapshot)).toEqual(['a'])
          await storage.commit([insertRealm(db, 'b')])
          expect(await realmNames(db)).toEqual(['a', 'b'])
          expect(await realmNames(snapshot)).toEqual(['a'])
        })
      expect(await realmNames(db)).toEqual(['a', 'b'])
    })

    it('refuses a write through the connection for reads', async () => {
      await expect(db.insertInto('realms').values(realmRow('a')).execute()).rejects.toThrow()
      expect(await realmNames(db)).toEqual([])
    })

    it('settles what is under way when it is closed, and refuses what comes later', async () => {
      const other = await open()
      const late = other.storage
      const writes = Array.from({ length: 50 }, (_, n) => [
        late.commit([insertMeta(late.db, `c${n}`, 'x')]),
        late.append([insertMeta(late.db, `a${n}`, 'x')]),
      ]).flat()
      expect(await late.ping()).toBe(true)
      const closed = late.close()
      await expect(late.commit([insertMeta(late.db, 'late', 'x')])).rejects.toBeInstanceOf(
        StorageUnavailableError,
      )
      expect(new Set(await outcomes(writes))).toEqual(new Set(['written']))
      await closed
      await expect(late.append([insertMeta(late.db, 'late', 'x')])).rejects.toBeInstanceOf(
        StorageUnavailableError,
      )
      expect(await late.ping()).toBe(false)
      await other.close()
    })
  })
}
