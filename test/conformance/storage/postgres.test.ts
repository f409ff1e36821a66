/** Behaviour of PostgreSQL alone: several nodes, notifications, and broken connections. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import {
  OutcomeUnknownError,
  type Storage,
  StorageUnavailableError,
} from '#server/storage/contract.ts'
import { openStorage } from '#server/storage/open.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import { backends, type OpenBackend } from '../../support/backends.ts'
import { dropDatabase } from '../../support/processes/postgres.ts'
import { startCutProxy } from './cut-proxy.ts'
import { eventRow, insertMeta, insertRealm, metaNames, realmNames, realmRow } from './rows.ts'

const postgres = backends.find(({ name }) => name === 'postgres')

/** What a subscriber has heard, and a wait for the next thing it hears. */
const follow = (storage: Storage) => {
  const heard: (string | null)[] = []
  let wake = (): void => {}
  const unsubscribe = storage.subscribe((realm) => {
    heard.push(realm)
    wake()
  })
  const until = async (count: number): Promise<void> => {
    while (heard.length < count) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { heard, until, unsubscribe }
}

const asAdmin = async (url: string, text: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(text)
  await client.end()
}

const TERMINATE_OTHERS = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

describe.runIf(postgres !== undefined)('a PostgreSQL database', () => {
  let backend: OpenBackend
  let storage: Storage
  const cleanups: (() => Promise<void>)[] = []

  const announced = (realm: string) => {
    const announcement = storage.announce(realm)
    if (announcement === undefined) throw new Error('PostgreSQL announces')
    return announcement
  }

  /** The database by way of a connection that can be cut. */
  const openCut = async () => {
    const proxy = await startCutProxy(backend.url)
    const cut = await openStorage({ url: proxy.url })
    cleanups.push(
      () => proxy.close(),
      () => cut.close(),
    )
    return { proxy, cut }
  }

  const eventTypes = async (): Promise<string[]> => {
    const rows = await storage.db.selectFrom('audit_events').select('type').orderBy('id').execute()
    return rows.map(({ type }) => type)
  }

  beforeEach(async () => {
    if (postgres === undefined) throw new Error('PostgreSQL is not among the backends')
    backend = await postgres.open()
    storage = backend.storage
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    await backend.close()
  })

  /** Refuses as many audit events as a standby does. */
  const beStandby = async (times: number): Promise<void> => {
    await asAdmin(backend.url, 'create sequence reached')
    await asAdmin(
      backend.url,
      `create function refuse() returns trigger language plpgsql as $$ begin
        if nextval('reached') <= ${times} then
          raise 'cannot execute INSERT in a read-only transaction' using errcode = '25006';
        end if;
        return new;
      end $$`,
    )
    const trigger = 'create trigger refuse before insert on audit_events'
    await asAdmin(backend.url, `${trigger} for each row execute function refuse()`)
  }

  it('tells of a list that is alone the first thing that failed', async () => {
    const none = {
      ...statement(storage.db.selectFrom('realms').select('name').where('name', '=', 'b')),
      expect: { rows: 1, guard: 'realm:b' },
    }
    await storage.commit([insertMeta(storage.db, 'a', '1')])
    const twice = insertMeta(storage.db, 'a', '2')
    await expect(storage.commit([none, twice])).rejects.toThrow('realm:b')
    await expect(storage.commit([twice, none])).rejects.toThrow('unique')
  })

  it('commits what can be committed of lists that come at the same moment', async () => {
    await storage.commit([insertRealm(storage.db, 'a')])
    const taken = (name: string) => ({
      ...statement(storage.db.selectFrom('realms').select('name').where('name', '=', name)),
      expect: { rows: 1, guard: `realm:${name}` },
    })
    const settled = await Promise.allSettled([
      storage.commit([taken('a'), insertMeta(storage.db, 'a', '1')]),
      storage.commit([taken('b'), insertMeta(storage.db, 'b', '1')]),
      storage.commit([taken('a'), insertMeta(storage.db, 'a', '2')]),
      storage.commit([taken('a'), insertMeta(storage.db, 'c', '1')]),
    ])
    const reasons = settled.map((one) => (one.status === 'rejected' ? String(one.reason) : ''))
    expect(reasons.filter((reason) => reason === '')).toHaveLength(2)
    expect(reasons[1]).toContain('realm:b')
    expect(reasons.filter((reason) => reason.includes('unique'))).toHaveLength(1)
    expect(await metaNames(storage.db)).toEqual(['a', 'c'])
  })

  it('tells every node of a committed change, and of no other', async () => {
    const other = await openStorage({ url: backend.url })
    cleanups.push(() => other.close())
    const [here, there] = [follow(storage), follow(other)]
    const refused = [
      announced('refused'),
      insertRealm(storage.db, 'a'),
      insertRealm(storage.db, 'a'),
    ]
    await expect(storage.commit(refused)).rejects.toThrow()
    await storage.commit([insertRealm(storage.db, 'a'), announced('a')])
    await storage.append([insertRealm(storage.db, 'b'), announced('b')])
    await Promise.all([here.until(2), there.until(2)])
    expect(here.heard).toEqual(['a', 'b'])
    expect(there.heard).toEqual(['a', 'b'])
    there.unsubscribe()
    await storage.commit([announced('c')])
    await here.until(3)
    expect(there.heard).toEqual(['a', 'b'])
  })

  it('whose connections are all ended is used again, and followers are told to read anew', async () => {
    const follower = follow(storage)
    await storage.commit([insertRealm(storage.db, 'a')])
    expect(await realmNames(storage.db)).toEqual(['a'])
    await asAdmin(backend.url, TERMINATE_OTHERS)
    await follower.until(1)
    expect(follower.heard).toEqual([null])
    await storage.commit([insertRealm(storage.db, 'b'), announced('b')])
    await storage.append([insertRealm(storage.db, 'c')])
    expect(await realmNames(storage.db)).toEqual(['a', 'b', 'c'])
    await follower.until(2)
    expect(follower.heard).toEqual([null, 'b'])
    expect(await storage.ping()).toBe(true)
  })

  it('whose connections are ended while many write loses and doubles nothing', async () => {
    const writes = Array.from({ length: 300 }, (_, n) => {
      const list = [insertMeta(storage.db, `m${n}`, 'x')]
      return n % 2 === 0 ? storage.commit(list) : storage.append(list)
    })
    const all = Promise.allSettled(writes)
    await asAdmin(backend.url, TERMINATE_OTHERS)
    const settled = await all
    const stored = new Set(await metaNames(storage.db).catch(() => metaNames(storage.db)))
    for (const [n, { status, ...rest }] of settled.entries()) {
      if (status === 'fulfilled') expect(stored).toContain(`m${n}`)
      else if (!('reason' in rest && rest.reason instanceof OutcomeUnknownError)) {
        expect(stored).not.toContain(`m${n}`)
      }
    }
    expect(settled.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
  })

  it.each(['commit', 'append'] as const)(
    'repeats %s when the connection broke before it was committed',
    async (method) => {
      const { proxy, cut } = await openCut()
      proxy.cutNext({ text: 'insert into', when: 'after' })
      await cut[method]([insertMeta(storage.db, 'a', 'b')])
      expect(proxy.cuts()).toBe(1)
      expect(await metaNames(storage.db)).toEqual(['a'])
    },
  )

  it.each([
    ['commit', 'before', []],
    ['commit', 'after', ['a']],
    ['append', 'before', []],
    ['append', 'after', ['a']],
  ] as const)(
    '%s says that the outcome is unknown when the connection breaks %s the server commits',
    async (method, when, written) => {
      const { proxy, cut } = await openCut()
      proxy.cutNext({ text: 'commit\0', when })
      const error = await cut[method]([insertMeta(storage.db, 'a', 'b')]).catch((e: unknown) => e)
      expect(error).toBeInstanceOf(OutcomeUnknownError)
      expect(await metaNames(storage.db)).toEqual(written)
    },
  )

  it.each([
    ['before', []],
    ['after', ['X']],
  ] as const)(
    'says that the outcome of an audit event is unknown when the connection breaks %s it is written, and writes it once at most',
    async (when, written) => {
      const { proxy, cut } = await openCut()
      proxy.cutNext({ text: 'insert into "audit_events"', when })
      const event = insertRows(storage.db, 'audit_events', [eventRow('a', 'X')])
      await expect(cut.append(event)).rejects.toBeInstanceOf(OutcomeUnknownError)
      expect(await eventTypes()).toEqual(written)
      await cut.append(insertRows(storage.db, 'audit_events', [eventRow('a', 'Y')]))
      expect(await eventTypes()).toEqual([...written, 'Y'])
    },
  )

  it('writes an audit event once when the first server that it reaches has become a standby', async () => {
    await beStandby(1)
    await storage.append(insertRows(storage.db, 'audit_events', [eventRow('a', 'X')]))
    expect(await eventTypes()).toEqual(['X'])
  })

  it('says that nothing was written, not that it is unknown, where there are only standbys', async () => {
    await beStandby(99)
    const event = insertRows(storage.db, 'audit_events', [eventRow('a', 'X')])
    await expect(storage.append(event)).rejects.toBeInstanceOf(StorageUnavailableError)
    expect(await eventTypes()).toEqual([])
  })

  it('records events whatever transactions are by default', async () => {
    const { pathname } = new URL(backend.url)
    const all = `alter database "${pathname.slice(1)}" set`
    await asAdmin(backend.url, `${all} default_transaction_isolation = serializable`)
    await asAdmin(backend.url, `${all} default_transaction_read_only = on`)
    const strict = await openStorage({ url: backend.url })
    cleanups.push(() => strict.close())
    const append = (type: string) =>
      strict.append(insertRows(storage.db, 'audit_events', [eventRow('a', type)]))
    await Promise.all([append('X'), append('X')])
    await append('X')
    expect(await eventTypes()).toEqual(['X', 'X', 'X'])
  })

  it('repeats what a deadlock ended, until both are through', async () => {
    await storage.commit([insertRealm(storage.db, 'a'), insertRealm(storage.db, 'b')])
    const raise = (name: string) =>
      statement(
        storage.db
          .updateTable('realms')
          .set((eb) => ({ seq: eb('seq', '+', 1) }))
          .where('name', '=', name),
      )
    const pause = { sql: 'select pg_sleep($1::bigint / 1000.0)', parameters: [2] }
    // Too long to be committed together.
    const pauses = Array.from({ length: 25 }, () => pause)
    await Promise.all([
      storage.commit([raise('a'), ...pauses, raise('b')]),
      storage.commit([raise('b'), ...pauses, raise('a')]),
    ])
    const rows = await storage.db.selectFrom('realms').select('seq').execute()
    expect(rows).toEqual([{ seq: 2 }, { seq: 2 }])
  })

  it('orders text by its bytes even where the database has a language', async () => {
    const server = inject('postgresUrl')
    const name = `test_${randomUUID().replaceAll('-', '')}`
    await asAdmin(
      server,
      `create database ${name} template template0 locale_provider icu icu_locale 'sv' locale 'C'`,
    )
    cleanups.push(() => dropDatabase(server, name))
    const swedish = await openStorage({
      url: Object.assign(new URL(server), { pathname: name }).href,
    })
    cleanups.push(() => swedish.close())
    await swedish.commit(insertRows(swedish.db, 'realms', ['b', 'C', 'a', 'D', '_'].map(realmRow)))
    expect(await realmNames(swedish.db)).toEqual(['C', 'D', '_', 'a', 'b'])
  })

  it('that is not in UTF-8 is refused', async () => {
    const server = inject('postgresUrl')
    const name = `test_${randomUUID().replaceAll('-', '')}`
    await asAdmin(
      server,
      `create database ${name} template template0 encoding 'SQL_ASCII' locale 'C'`,
    )
    cleanups.push(() => dropDatabase(server, name))
    const url = Object.assign(new URL(server), { pathname: name }).href
    await expect(openStorage({ url })).rejects.toThrow('make one with the encoding UTF8')
  })
})
