/** PostgreSQL's locks: a list that has to wait for one delays no other, and none waits for as long as the lock is held. */
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Storage, StorageUnavailableError } from '#server/storage/contract.ts'
import { backends, type OpenBackend } from '../../support/backends.ts'
import { insertMeta, metaNames } from './rows.ts'

const postgres = backends.find(({ name }) => name === 'postgres')

describe.runIf(postgres !== undefined)('a lock of PostgreSQL', () => {
  let backend: OpenBackend
  let storage: Storage
  const cleanups: (() => Promise<void>)[] = []

  beforeEach(async () => {
    if (postgres === undefined) throw new Error('PostgreSQL is not among the backends')
    backend = await postgres.open()
    storage = backend.storage
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    await backend.close()
  })

  /** Runs in a transaction that stays open; resolves to what ends it. */
  const inOpenTransaction = async (
    text: string,
    values: string[] = [],
  ): Promise<() => Promise<unknown>> => {
    const client = new pg.Client({ connectionString: backend.url })
    await client.connect()
    cleanups.push(() => client.end())
    await client.query('begin')
    await client.query(text, values)
    return () => client.query('rollback')
  }
  /** Holds a name that others want to insert. */
  const hold = (name: string) =>
    inOpenTransaction(`insert into meta (name, value) values ($1, '0')`, [name])
  const holdTable = () => inOpenTransaction('lock table meta in access exclusive mode')
  const waiting = async (): Promise<number> => {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(storage.db)
    return rows.length
  }

  it.each(['commit', 'append'] as const)(
    'delays no %s that comes after others that wait for it',
    async (method) => {
      const names = ['held', 'held too', 'held as well']
      const held: { readonly letGo: () => Promise<unknown>; readonly done: Promise<unknown> }[] = []
      for (const name of names) {
        const letGo = await hold(name)
        held.push({ letGo, done: storage[method]([insertMeta(storage.db, name, '1')]) })
        await expect.poll(waiting).toBe(held.length)
      }
      await storage[method]([insertMeta(storage.db, 'free', '1')])
      for (const { letGo, done } of held) {
        await letGo()
        await done
      }
      expect(await metaNames(storage.db)).toEqual(expect.arrayContaining(['free', ...names]))
    },
  )

  it('commits lists that come at the same moment together, one that is held up apart', async () => {
    const letGo = await hold('held')
    const held = storage.commit([insertMeta(storage.db, 'held', '1')])
    const names = ['a', 'b', 'c', 'd', 'e']
    await Promise.all(names.map((name) => storage.commit([insertMeta(storage.db, name, '1')])))
    await letGo()
    await held
    await Promise.all(names.map((name) => storage.commit([insertMeta(storage.db, `${name}2`, '')])))
    const { rows } = await sql<{
      names: string
    }>`select string_agg(name, ' ' order by name) as names
      from meta where name <> 'held' group by xmin::text order by names`.execute(storage.db)
    expect(rows.map((row) => row.names)).toEqual([...names, 'a2 b2 c2 d2 e2'].sort())
  })

  it('is waited for by several appends at once, not by one after the other', async () => {
    const letGo = await holdTable()
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const appends = names.map((name) => storage.append([insertMeta(storage.db, name, '1')]))
    await expect.poll(waiting).toBe(names.length)
    await letGo()
    await Promise.all(appends)
    expect(await metaNames(storage.db)).toEqual(names)
  })

  it('is waited for by reads for a moment', async () => {
    await holdTable()
    const begun = Date.now()
    const reads = await Promise.allSettled(['a', 'b', 'c'].map(() => metaNames(storage.db)))
    for (const read of reads)
      expect(read).toMatchObject({ reason: expect.any(StorageUnavailableError) })
    // Ten seconds is the limit of a write.
    expect(Date.now() - begun).toBeLessThan(9_000)
  })
})
