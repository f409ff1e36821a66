/** The stream of audit events: complete, ordered, on every node, resumable, and only with permission. */

import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { AuditRecord } from '#schemas/wire/events.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { createEventStreams } from '#server/audit/stream.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../support/backends.ts'
import { type Client, startServer, type TestServer } from '../support/server.ts'
import { eventsSettled } from './settled.ts'

interface Message {
  readonly id: string
  readonly record: AuditRecord | null
}

/** Reads server-sent events as a browser does. */
class Reader {
  readonly messages: Message[] = []
  readonly status: Promise<number>
  readonly ended: Promise<void>
  lastId = ''
  readonly #aborting = new AbortController()

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    const answer = fetch(url, {
      headers: { accept: 'text/event-stream', ...headers },
      signal: this.#aborting.signal,
    })
    this.status = answer.then(({ status }) => status)
    this.ended = answer.then((response) => this.#read(response)).catch(() => undefined)
  }

  async #read({ body }: Response): Promise<void> {
    let text = ''
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        this.#take(text.slice(0, end))
        text = text.slice(end + 2)
      }
    }
  }

  #take(block: string): void {
    const fields = block.split('\n').map((line) => line.split(/: ?(.*)/s))
    const value = (name: string) => fields.find(([field]) => field === name)?.[1]
    this.lastId = value('id') ?? this.lastId
    const data = value('data')
    this.messages.push({ id: this.lastId, record: data === undefined ? null : JSON.parse(data) })
  }

  get actors(): string[] {
    return this.messages.flatMap(({ record }) => (record ? [record.actor] : []))
  }

  close(): void {
    this.#aborting.abort()
  }
}

describe.each(backends)('the stream of audit events on $name', (backend) => {
  let server: TestServer
  const readers: Reader[] = []
  beforeAll(async () => {
    server = await startServer(backend, { listen: true })
    await server.createRealm('acme')
    await server.createRealm('other')
  })
  afterAll(() => server.close())
  afterEach(() => {
    for (const reader of readers.splice(0)) reader.close()
  })

  const record = (actors: readonly string[], event: Partial<AuditEvent> = {}) =>
    server.areas.audit.recorder.append(
      [],
      actors.map((actor) => ({
        type: 'LOGOUT',
        realm: 'acme',
        actor,
        sourceIp: '192.0.2.1',
        outcome: 'SUCCESS',
        ...event,
      })),
    )
  const path = '/admin/realms/acme/events/stream'
  const open = async (
    query = '',
    {
      headers = {},
      by = server.admin,
      at = server,
    }: { headers?: Record<string, string>; by?: Client; at?: TestServer } = {},
  ): Promise<Reader> => {
    if (headers['last-event-id'] === undefined) await eventsSettled(at.areas.audit.outbox)
    const reader = new Reader(`${at.baseUrl}${path}${query}`, { cookie: by.cookie, ...headers })
    readers.push(reader)
    // The first message says where it begins.
    if ((await reader.status) === 200) await expect.poll(() => reader.lastId).not.toBe('')
    return reader
  }
  const arrive = (reader: Reader, actors: readonly string[]) =>
    expect.poll(() => reader.actors, { timeout: 10_000 }).toEqual(actors)

  it('brings what is recorded from now on, in order, as the list has it', async () => {
    await record(['before'])
    const reader = await open()
    const actors = Array.from({ length: 250 }, (_, i) => `actor-${i}`)
    await record(actors)
    await record(['elsewhere'], { realm: 'other' })
    await record(['last'])
    await arrive(reader, [...actors, 'last'])
    const listed = await server.admin.send('GET', '/admin/realms/acme/events?size=1')
    expect(reader.messages.at(-1)?.record).toEqual(listed.body.items[0])
  })

  it('brings only what passes the filters', async () => {
    const reader = await open('?category=AUTHN&outcome=FAILURE&type=LOGIN_FAILURE')
    const mine = await open('?actor=mine')
    await record(['a'], { type: 'LOGIN_FAILURE' })
    await record(['b'], { outcome: 'FAILURE' })
    await record(['mine', 'c'], { type: 'LOGIN_FAILURE', outcome: 'FAILURE' })
    await arrive(reader, ['mine', 'c'])
    await arrive(mine, ['mine'])
  })

  it('goes on after the event that the client saw last, without gap and without repetition', async () => {
    const first = await open()
    await record(['one', 'two'])
    await arrive(first, ['one', 'two'])
    first.close()
    await record(['three'])
    const second = await open('', { headers: { 'last-event-id': first.lastId } })
    await record(['four'])
    await arrive(second, ['three', 'four'])
    const seen = first.messages.find(({ record: told }) => told?.actor === 'one')
    const third = await open('', { headers: { 'last-event-id': seen?.id ?? '' } })
    await arrive(third, ['two', 'three', 'four'])
  })

  it.runIf(backend.name === 'postgres')('brings what another node records', async () => {
    const other = await startServer(backend, { url: server.url, listen: true })
    try {
      const reader = await open('', { at: other, by: await other.signedIn('master', 'admin') })
      await record(['from afar'])
      await arrive(reader, ['from afar'])
    } finally {
      for (const reader of readers.splice(0)) reader.close()
      await other.close()
    }
  })

  it('ends before the next event when the session has ended', async () => {
    const viewer = await server.userWith('acme', ['view-events'])
    const reader = await open('', { by: viewer })
    await record(['seen'])
    await arrive(reader, ['seen'])
    const { storage } = server.areas
    await storage.commit([
      statement(storage.db.deleteFrom('sessions').where('user_id', '=', viewer.userId)),
    ])
    await record(['unseen'])
    await reader.ended
    expect(reader.actors).toEqual(['seen'])
  })

  it('ends before the next event when the permission was taken away', async () => {
    const viewer = await server.userWith('acme', ['view-events'])
    const reader = await open('', { by: viewer })
    const { storage } = server.areas
    await storage.commit([
      statement(storage.db.deleteFrom('user_roles').where('user_id', '=', viewer.userId)),
    ])
    await record(['unseen'])
    await reader.ended
    expect(reader.actors).toEqual([])
  })

  it('is for who may view events in the realm', async () => {
    const nobody = await server.userWith('acme', ['view-users'])
    expect(await (await open('', { by: nobody })).status).toBe(403)
    const stranger = await server.userWith('other', ['view-events'])
    expect(await (await open('', { by: stranger })).status).toBe(401)
  })

  it.each(['?type=NO_SUCH', '?page=1', '?actor=%00'])('is refused for %s', async (query) => {
    expect(await (await open(query)).status).toBe(400)
  })

  it('is refused after what is no id of a stream, and to who does not expect a stream', async () => {
    for (const id of ['x', '1', '1:', '-1:1', '1:1:1'])
      expect(await (await open('', { headers: { 'last-event-id': id } })).status, id).toBe(400)
    expect((await server.admin.send('GET', path)).status).toBe(400)
  })

  it('reads no more than a client has made room for, and keeps the connection open meanwhile', async () => {
    const {
      audit: { outbox, readRecords },
    } = server.areas
    let reads = 0
    const counted = {
      ...outbox,
      read: (...args: Parameters<typeof outbox.read>) => {
        reads += 1
        return outbox.read(...args)
      },
    }
    const streams = createEventStreams({
      outbox: counted,
      readRecords,
      shared: false,
      heartbeatMs: 20,
    })
    const options = { realm: 'acme', where: sql<boolean>`true`, stillAllowed: async () => true }
    const idle = streams.open(options)
    const beats: string[] = []
    idle?.on('data', (part) => beats.push(String(part)))
    await expect.poll(() => beats.length).toBeGreaterThan(3)
    expect(beats.at(-1)).toMatch(/^:\nid: \d+:\d+\n\n$/)
    idle?.destroy()

    await record(Array.from({ length: 3000 }, (_, i) => `flood-${i}`))
    reads = 0
    const stuck = streams.open({ ...options, after: '0:0' })
    const ended = new Promise<void>((resolve) => stuck?.once('close', resolve))
    stuck?.once('readable', () => undefined)
    await ended
    expect(reads).toBeLessThan(10)
  })

  it('is open for a bounded number, and ends with the server', async () => {
    const {
      audit: { outbox, readRecords },
    } = server.areas
    // Nothing but the end itself wakes those that rest.
    const hour = 60 * 60_000
    const streams = createEventStreams({ outbox, readRecords, shared: false, heartbeatMs: hour })
    const options = { realm: 'acme', where: sql<boolean>`true`, stillAllowed: async () => true }
    const openAll = (realm: string) =>
      Array.from({ length: 101 }, () => streams.open({ ...options, realm })?.resume()).flatMap(
        (stream) => stream ?? [],
      )
    // A realm holds no more than it leaves free, so that the next one gets some too.
    const opened = ['acme', 'globex', 'initech'].map(openAll)
    expect(opened.map(({ length }) => length)).toEqual([50, 25, 13])
    await turn()
    const [last] = opened[2] ?? []
    last?.destroy()
    await expect.poll(() => last?.closed).toBe(true)
    expect(openAll('initech')).toHaveLength(1)
    streams.close()
    await expect.poll(() => opened.flat().every((stream) => stream.closed)).toBe(true)
    const left = await open()
    await server.app.close()
    await left.ended
  })
})
