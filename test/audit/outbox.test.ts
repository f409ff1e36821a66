/** The outbox: every event once and in commit order, also with concurrent transactions. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Follower, startFollower } from '#server/audit/follower.ts'
import { createOutbox, type Outbox, type OutboxEvent } from '#server/audit/outbox.ts'
import { openStorage } from '#server/storage/open.ts'
import { insertRows } from '#server/storage/statements.ts'
import { eventRow, insertMeta, metaNames } from '../conformance/storage/rows.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import { eventsSettled } from './settled.ts'

const silent = { error: () => {} }

describe.each(backends)('the outbox on $name', ({ name: database, open }) => {
  let backend: OpenBackend
  let outbox: Outbox
  let followers: Follower[]
  beforeEach(async () => {
    backend = await open()
    outbox = createOutbox(backend.storage)
    followers = []
  })
  afterEach(async () => {
    await Promise.all(followers.map((one) => one.stop()))
    await backend.close()
  })

  const add = (...types: string[]) =>
    backend.storage.append(
      insertRows(
        backend.storage.db,
        'audit_events',
        types.map((type) => eventRow('a', type)),
      ),
    )
  const typesOf = (events: readonly OutboxEvent[]): string[] => events.map(({ type }) => type)
  const all = async (after: string): Promise<string[]> => {
    const seen: string[] = []
    for (let at = after; ; ) {
      const { events, position, more } = await outbox.read(at, 3)
      seen.push(...typesOf(events))
      at = position
      if (!more) return seen
    }
  }

  it('gives the events after a position, part by part, and each one its own position', async () => {
    await add('before')
    await eventsSettled(outbox)
    const start = await outbox.end()
    await add('one', 'two', 'three', 'four', 'five')
    expect(await all(start)).toEqual(['one', 'two', 'three', 'four', 'five'])
    const { events } = await outbox.read(start, 5)
    expect(typesOf((await outbox.read(events[2]?.position ?? '', 9)).events)).toEqual([
      'four',
      'five',
    ])
    expect(await outbox.read(events[4]?.position ?? '', 9)).toMatchObject({
      events: [],
      more: false,
    })
  })

  it('begins a new cursor at the end, and moves it for one of many', async () => {
    await add('before')
    const at = await outbox.cursor('c')
    await add('one')
    expect(await outbox.cursor('c')).toBe(at)
    await eventsSettled(outbox)
    const { position } = await outbox.read(at, 5)
    const moves = await Promise.allSettled(
      [1, 2, 3].map((n) =>
        backend.storage.commit([
          outbox.advance('c', at, position),
          insertMeta(backend.storage.db, `made ${n}`, 'x'),
        ]),
      ),
    )
    expect(moves.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await metaNames(backend.storage.db)).toHaveLength(1)
    expect(await outbox.cursor('c')).toBe(position)
  })

  it.runIf(database === 'postgres')(
    'waits for a transaction that began earlier and commits later',
    async () => {
      const start = await outbox.end()
      const slow = new pg.Client({ connectionString: backend.url })
      await slow.connect()
      await slow.query('begin')
      const { realm, type, ...row } = eventRow('a', 'slow')
      const names = ['realm', 'type', ...Object.keys(row)]
      await slow.query(
        `insert into audit_events (${names}) values (${names.map((_, n) => `$${n + 1}`)})`,
        [realm, type, ...Object.values(row)],
      )
      await add('fast')
      expect(await outbox.read(start, 9)).toMatchObject({ events: [], more: true })
      await slow.query('commit')
      await slow.end()
      expect(await all(start)).toEqual(['slow', 'fast'])
    },
  )

  describe.runIf(database === 'postgres')('of a database that was restored elsewhere', () => {
    /** By whose transactions are to come: as if they were of a cluster with more of them. */
    const ahead = 1_000_000
    const inDatabase = async (...statements: string[]): Promise<void> => {
      const client = new pg.Client({ connectionString: backend.url })
      await client.connect()
      for (const text of statements) await client.query(text)
      await client.end()
    }
    const moveEvents = (where = 'true') =>
      `update audit_events set xact = (xact::text::bigint + ${ahead})::text::xid8 where ${where}`
    const moveCursors = `update outbox_cursors set position =
      (split_part(position, ':', 1)::bigint + ${ahead}) || ':' || split_part(position, ':', 2)`
    const tell = async (...types: string[]): Promise<void> => {
      const from = await outbox.cursor('c')
      await add(...types)
      await eventsSettled(outbox)
      const { position } = await outbox.read(from, 9)
      await backend.storage.commit([outbox.advance('c', from, position)])
    }
    const openedAgain = async (): Promise<string[]> => {
      for (const _ of ['once', 'and again']) await (await openStorage({ url: backend.url })).close()
      await add('new')
      return all(await outbox.cursor('c'))
    }

    it('goes on with what was not told', async () => {
      await tell('told')
      await add('untold')
      await inDatabase(moveEvents(), moveCursors)
      expect(await openedAgain()).toEqual(['untold', 'new'])
    })

    it('repeats nothing for a follower that was at the end', async () => {
      await add('unwanted')
      await eventsSettled(outbox)
      expect(await outbox.cursor('c')).toMatch(/^[1-9]\d*:0$/)
      await inDatabase(moveEvents(), moveCursors)
      expect(await openedAgain()).toEqual(['new'])
    })

    it('goes on where the cursor alone is ahead, or some of the events', async () => {
      await tell('told')
      await inDatabase(moveCursors)
      expect(await openedAgain()).toEqual(['new'])
      await tell()
      await add('untold')
      await inDatabase(moveEvents(`type = 'untold'`))
      expect(await openedAgain()).toEqual(['untold', 'new'])
    })
  })

  describe('a follower', () => {
    let wanted: boolean
    const follow = (over = outbox): Follower => {
      const { storage } = backend
      const follower = startFollower({
        name: 'f',
        outbox: over,
        storage,
        logger: silent,
        wanted: async () => wanted,
        changesWanted: ({ type }) => type === 'ADMIN_CREATE',
        make: async (events) =>
          events.map(({ id, type }) => insertMeta(storage.db, `${id} ${type}`, 'x')),
        made: () => {},
      })
      followers.push(follower)
      return follower
    }
    const made = async (): Promise<string[]> =>
      (await metaNames(backend.storage.db)).map((text) => text.replace(/^\d+ /, ''))

    it('makes something of every event once, on however many nodes', async () => {
      wanted = true
      const nodes = [follow(), follow(createOutbox(backend.storage)), follow()]
      await outbox.cursor('f')
      const expected = Array.from({ length: 60 }, (_, n) => `event ${n}`)
      for (const type of expected) {
        await add(type)
        for (const node of nodes) node.wake()
        if (type.endsWith('7')) await sleep(5)
      }
      await Promise.all(nodes.map((node) => node.idle()))
      // A second write of the same name would have been refused, and the batch with it.
      expect((await made()).toSorted()).toEqual(expected.toSorted())
    })

    it('passes over what nobody wants, and misses nothing from the moment somebody does', async () => {
      wanted = false
      const follower = follow()
      await follower.idle()
      await add('unwanted')
      await follower.idle()
      wanted = true
      await add('wanted')
      await follower.idle()
      expect(await made()).toEqual(['wanted'])
    })

    it('goes on where it was when it starts again', async () => {
      wanted = true
      const first = follow()
      await first.idle()
      await first.stop()
      await add('meanwhile')
      await follow().idle()
      expect(await made()).toEqual(['meanwhile'])
    })
  })
})
