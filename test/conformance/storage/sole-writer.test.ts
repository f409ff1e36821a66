/** A node that alone writes to a PostgreSQL database trusts itself; nobody else writes while it does. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { OutcomeUnknownError, type Storage } from '#server/storage/contract.ts'
import { openStorage } from '#server/storage/open.ts'
import { insertRows } from '#server/storage/statements.ts'
import { backends, type OpenBackend } from '../../support/backends.ts'
import { startCutProxy } from './cut-proxy.ts'
import { eventRow, insertMeta, insertRealm, metaNames } from './rows.ts'

const postgres = backends.find(({ name }) => name === 'postgres')

describe.runIf(postgres !== undefined)('the sole writer of a PostgreSQL database', () => {
  let backend: OpenBackend
  let storage: Storage
  let client: pg.Client
  const cleanups: (() => Promise<unknown>)[] = []

  const open = async (url = backend.url): Promise<Storage> => {
    const other = await openStorage({ url })
    cleanups.push(() => other.close())
    return other
  }

  const trusted = (one: Storage): Promise<string> =>
    expect
      .poll(() => one.mark(), { timeout: 5_000 })
      .toBeDefined()
      .then(() => String(one.mark()))

  const holder = async (): Promise<string | null> => {
    const { rows } = await client.query<{ holder: string | null }>('select holder from sole_writer')
    return rows[0]?.holder ?? null
  }

  beforeEach(async () => {
    if (postgres === undefined) throw new Error('PostgreSQL is not among the backends')
    backend = await postgres.open()
    storage = backend.storage
    client = new pg.Client({ connectionString: backend.url })
    await client.connect()
    cleanups.push(() => client.end())
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    await backend.close()
  })

  it('has a mark that its writes change, but for audit events', async () => {
    const first = await trusted(storage)
    expect(await trusted(storage)).toBe(first)
    await storage.append(insertRows(storage.db, 'audit_events', [eventRow('acme', 'LOGIN')]))
    expect(await trusted(storage)).toBe(first)
    await storage.commit([insertMeta(storage.db, 'a', '1')])
    const second = await trusted(storage)
    expect(second).not.toBe(first)
    await storage.append([insertMeta(storage.db, 'b', '1')])
    expect(await trusted(storage)).not.toBe(second)
  })

  it.each(['commit', 'append'] as const)(
    'trusts itself no more when another node has written (%s)',
    async (way) => {
      const other = await open()
      await trusted(storage)
      await other[way]([insertMeta(other.db, 'a', '1')])
      expect(storage.mark()).toBeUndefined()
      expect(other.mark()).toBeUndefined()
      await storage.commit([insertMeta(storage.db, 'b', '1')])
      expect(await metaNames(other.db)).toEqual(['a', 'b'])
    },
  )

  it('gives way to whoever writes, one job of many included', async () => {
    const other = await open()
    await trusted(storage)
    const twice = insertRealm(other.db, 'acme')
    const outcomes = await Promise.allSettled([
      other.append([twice]),
      other.append([insertMeta(other.db, 'a', '1')]),
      other.append([twice]),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    expect(storage.mark()).toBeUndefined()
  })

  it('is left for a while after it met another', async () => {
    const other = await open()
    await trusted(storage)
    await other.commit([insertMeta(other.db, 'a', '1')])
    const marks = [storage.mark(), other.mark()]
    await sleep(100)
    expect([...marks, storage.mark(), other.mark()]).toEqual(Array(4).fill(undefined))
    expect(await holder()).toBeNull()
  })

  it('is waited for when it does not answer, and its name taken away then', async () => {
    await client.query(`update sole_writer set holder = 'a node that died'`)
    const begun = performance.now()
    await storage.commit([insertMeta(storage.db, 'a', '1')])
    expect(performance.now() - begun).toBeGreaterThan(1_000)
    expect(await holder()).toBeNull()
  })

  it('is not waited for by audit events', async () => {
    await client.query(`update sole_writer set holder = 'a node that died'`)
    await storage.append(insertRows(storage.db, 'audit_events', [eventRow('acme', 'LOGIN')]))
    expect(await holder()).toBe('a node that died')
  })

  it('goes when it is asked although it hears nothing', async () => {
    await trusted(storage)
    await client.query('update sole_writer set asked = 1')
    await expect.poll(() => storage.mark(), { timeout: 5_000 }).toBeUndefined()
    await expect.poll(holder).toBeNull()
  })

  it('waits for transactions that have not seen it', async () => {
    const writer = new pg.Client({ connectionString: backend.url })
    await writer.connect()
    cleanups.push(() => writer.end())
    await writer.query('begin')
    await writer.query(`insert into meta (name, value) values ('a', '1')`)
    storage.mark()
    await expect.poll(holder).not.toBeNull()
    for (let look = 0; look < 10; look += 1) {
      await sleep(15)
      expect(storage.mark()).toBeUndefined()
    }
    await writer.query('commit')
    await trusted(storage)
    expect(await metaNames(storage.db)).toEqual(['a'])
  })

  it('does not trust what it knew before a commit of unknown outcome', async () => {
    const proxy = await startCutProxy(backend.url)
    cleanups.push(() => proxy.close())
    const cut = await open(proxy.url)
    const first = await trusted(cut)
    proxy.cutNext({ text: 'commit\0', when: 'after' })
    const write = cut.commit([insertMeta(cut.db, 'a', '1')])
    await expect(write).rejects.toBeInstanceOf(OutcomeUnknownError)
    expect(cut.mark()).toBeUndefined()
    const [name] = (await trusted(cut)).split(' ')
    expect(first.split(' ')).not.toContain(name)
  })

  it('is left when a node closes', async () => {
    const other = await open()
    await trusted(other)
    expect(await holder()).not.toBeNull()
    await other.close()
    expect(await holder()).toBeNull()
  })

  it('is asked to go by a migration', async () => {
    await trusted(storage)
    await client.query(`delete from schema_migrations where name = '0013-erasure-requests'`)
    await client.query('drop table erasure_requests')
    await open()
    expect(storage.mark()).toBeUndefined()
    expect(await holder()).toBeNull()
  })

  it('is not asked to go by a start that changes nothing', async () => {
    const first = await trusted(storage)
    await open()
    expect(await trusted(storage)).toBe(first)
  })
})
