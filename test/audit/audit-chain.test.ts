/** Tampering with sealed events is detected, and the first changed event is reported. */

import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { chainCursor, createSealEvents } from '#server/audit/chain.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { newId } from '#server/platform/ids.ts'
import { tidy } from '#server/run/housekeeping.ts'
import type { Statement } from '#server/storage/contract.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const day = 24 * 3600_000

describe.each(backends)('the chain of audit events on $name', (backend) => {
  let server: TestServer
  let realm: string
  let n = 0
  let now = 1_800_000_000_000
  beforeAll(async () => {
    server = await startServer(backend, { clock: { now: () => now } })
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    n += 1
    realm = `realm-${n}`
    server = { ...server, admin: await server.signedIn('master', 'admin') }
    const made = await server.admin.send('POST', '/admin/realms', { realm })
    expect(made.status).toBe(201)
  })

  const table = () => server.areas.storage.db
  const record = (count: number, event: Partial<AuditEvent> = {}) =>
    server.areas.audit.recorder.append(
      [],
      Array.from({ length: count }, (_, i) => ({
        type: 'LOGOUT',
        realm,
        actor: `actor-${i}`,
        sourceIp: '192.0.2.1',
        outcome: 'SUCCESS',
        ...event,
      })),
    )
  /** Other databases of the same server hold back what counts as settled. */
  const seal = () =>
    expect
      .poll(
        async () => {
          const {
            audit: { sealEvents, outbox },
          } = server.areas
          await sealEvents()
          const { events: left, more } = await outbox.read(await outbox.cursor(chainCursor), 1)
          return left.length > 0 || more
        },
        { timeout: 20_000, interval: 10 },
      )
      .toBe(false)
  const events = () =>
    server.areas.storage.db
      .selectFrom('audit_events')
      .selectAll()
      .where('realm', '=', realm)
      .orderBy('id')
      .execute()
  const blocks = () =>
    server.areas.storage.db
      .selectFrom('audit_blocks')
      .selectAll()
      .where('realm', '=', realm)
      .orderBy('n')
      .execute()
  /** As an administrator of the database would. */
  const tamper = (...statements: Statement[]) => server.areas.storage.commit(statements)
  const verify = async (after = 0) => {
    const answer = await server.admin.send(
      'GET',
      `/admin/realms/${realm}/events/verification?after=${after}`,
    )
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body
  }
  /** Three blocks of five events each. */
  const sealThree = async () => {
    for (let i = 0; i < 3; i += 1) {
      await record(5)
      await seal()
    }
    return events()
  }

  it('holds every event once, and says what is not in it yet', async () => {
    await sealThree()
    await record(2)
    const rows = await events()
    const chain = await blocks()
    expect(chain.reduce((sum, block) => sum + block.events, 0)).toBe(rows.length - 2)
    expect(chain.map(({ previous }) => previous)).toEqual([
      '',
      ...chain.slice(0, -1).map(({ hash }) => hash),
    ])
    const head = chain.at(-1)
    expect(await verify()).toEqual({
      blocks: chain.length,
      events: rows.length - 2,
      unsealed: 2,
      head: {
        block: head?.n,
        hash: head?.hash,
        sealedAt: new Date(head?.sealed_at ?? 0).toISOString(),
      },
      removedUpTo: null,
      knownBlock: null,
      fault: null,
      next: null,
    })
  })

  it('takes a thousand events into a block, however many are read at a time', async () => {
    await seal()
    const before = (await blocks()).length
    await record(2_300)
    await seal()
    const made = (await blocks()).slice(before)
    expect(made.map(({ events }) => events)).toEqual([1_000, 1_000, 300])
    expect((await verify()).fault).toBeNull()
  })

  it('leaves events that come meanwhile to the next block', async () => {
    await seal()
    await record(3)
    const { storage, audit, given } = server.areas
    let commits = 0
    const sealUnderLoad = createSealEvents({
      ...given,
      outbox: audit.outbox,
      chainKey: Buffer.alloc(32),
      storage: {
        db: storage.db,
        commit: async (statements) => {
          const results = await storage.commit(statements)
          commits += 1
          if (commits < 10) await record(1)
          return results
        },
      },
    })
    await expect.poll(() => sealUnderLoad(), { timeout: 20_000, interval: 10 }).toBe(1)
    expect(commits).toBe(1)
  })

  it('is made once, however many nodes seal at the same moment', async () => {
    await record(20)
    await Promise.allSettled([seal(), seal(), seal()])
    await seal()
    const rows = await events()
    const chain = await blocks()
    expect(chain.reduce((sum, block) => sum + block.events, 0)).toBe(rows.length)
    expect((await verify()).fault).toBeNull()
  })

  it('names an event of which anything was changed', async () => {
    const rows = await sealThree()
    const victim = rows.at(-8)
    const change = (values: object) =>
      tamper(
        statement(
          table()
            .updateTable('audit_events')
            .set(values)
            .where('id', '=', victim?.id ?? 0),
        ),
      )
    for (const values of [
      { actor: 'somebody else' },
      { at: 5 },
      { type: 'LOGIN_SUCCESS' },
      { category: 'ADMIN' },
      { outcome: 'FAILURE' },
      { source_ip: '203.0.113.9' },
      { detail: 'nothing to see' },
      { resource_type: 'users' },
      { resource_id: 'x' },
      { revision: 77 },
      { sealed: '{}' },
      { event_id: newId() },
    ]) {
      await change(values)
      expect((await verify()).fault, JSON.stringify(values)).toMatchObject({
        kind: 'changed',
        eventId: victim?.event_id,
      })
      const [column = ''] = Object.keys(values)
      await change({ [column]: victim?.[column as keyof typeof victim] })
      expect((await verify()).fault).toBeNull()
    }
  })

  it('names an event that was removed, the first one where several were', async () => {
    const rows = await sealThree()
    const victims = [rows.at(-3), rows.at(-7), rows.at(-12)].map((row) => row?.id ?? 0)
    await tamper(statement(table().deleteFrom('audit_events').where('id', 'in', victims)))
    expect((await verify()).fault).toMatchObject({
      kind: 'removed',
      eventId: rows.at(-12)?.event_id,
    })
  })

  it('names an event that was inserted among those that are sealed', async () => {
    const rows = await sealThree()
    const before = rows.at(-6)
    const forged = { ...before, id: -5, event_id: newId(), sealed: null }
    // As if it had been committed in those days.
    const old = server.areas.storage.dialect.commitsOutOfOrder ? { xact: '1' } : {}
    await tamper(...insertRows(table(), 'audit_events', [{ ...forged, ...old } as never]))
    expect((await verify()).fault).toMatchObject({ kind: 'inserted', eventId: forged.event_id })
  })

  it('notices when an event is moved to another realm', async () => {
    const rows = await sealThree()
    const victim = rows.at(-4)
    await tamper(
      statement(
        table()
          .updateTable('audit_events')
          .set({ realm: 'master' })
          .where('id', '=', victim?.id ?? 0),
      ),
    )
    expect((await verify()).fault).toMatchObject({ kind: 'removed', eventId: victim?.event_id })
  })

  it.each([
    ['hash', { hash: 'x' }],
    ['link', { previous: 'x' }],
    ['number of events', { events: 4 }],
    ['leaves', { leaves: '1 a b' }],
    ['missing leaves', { leaves: null }],
  ])('notices a block with another %s', async (_what, change) => {
    await sealThree()
    const chain = await blocks()
    const victim = chain.at(-2)
    await tamper(
      statement(
        table()
          .updateTable('audit_blocks')
          .set(change)
          .where('realm', '=', realm)
          .where('n', '=', victim?.n ?? 0),
      ),
    )
    expect((await verify()).fault).toEqual({ kind: 'block', block: victim?.n, eventId: null })
  })

  it('notices a block that was removed, with its events or without', async () => {
    await sealThree()
    const chain = await blocks()
    const victim = chain.at(-2)
    const range = [victim?.first_id ?? 0, victim?.last_id ?? 0] as const
    await tamper(
      statement(
        table()
          .deleteFrom('audit_blocks')
          .where('realm', '=', realm)
          .where('n', '=', victim?.n ?? 0),
      ),
      statement(
        table()
          .deleteFrom('audit_events')
          .where('realm', '=', realm)
          .where('id', '>=', range[0])
          .where('id', '<=', range[1]),
      ),
    )
    expect((await verify()).fault).toMatchObject({ kind: 'block', block: chain.at(-1)?.n })
  })

  it('notices events whose last block was removed', async () => {
    await sealThree()
    const last = (await blocks()).at(-1)
    await tamper(
      statement(
        table()
          .deleteFrom('audit_blocks')
          .where('realm', '=', realm)
          .where('n', '=', last?.n ?? 0),
      ),
    )
    expect((await verify()).fault).toMatchObject({ kind: 'inserted', block: null })
  })

  it('cannot be made anew by who does not have the key', async () => {
    await sealThree()
    const rows = await events()
    const {
      storage,
      audit: { outbox },
    } = server.areas
    const forge = createSealEvents({
      storage,
      outbox,
      clock: server.areas.given.clock,
      logger: server.areas.given.logger,
      chainKey: new Uint8Array(32),
    })
    await tamper(
      statement(table().deleteFrom('audit_blocks').where('realm', '=', realm)),
      statement(
        table()
          .updateTable('audit_events')
          .set({ actor: 'forged' })
          .where('id', '=', rows[3]?.id ?? 0),
      ),
      statement(
        table()
          .updateTable('outbox_cursors')
          .set({ position: '0:0' })
          .where('name', '=', 'audit-chain'),
      ),
    )
    await expect
      .poll(async () => (await forge()) + (await blocks()).length, { timeout: 20_000 })
      .not.toBe(0)
    expect((await verify()).fault).toMatchObject({ kind: 'block', block: 1 })
  })

  it('is checked part by part, and to the end', async () => {
    for (let i = 0; i < 30; i += 1) {
      await record(1)
      await seal()
    }
    const rows = await events()
    let [after, checked, parts] = [0, 0, 0]
    for (;;) {
      const report = await verify(after)
      expect(report.fault).toBeNull()
      checked += report.events
      parts += 1
      if (report.next === null) break
      after = report.next
    }
    expect(parts).toBeGreaterThan(1)
    expect(checked).toBe(rows.length)
    await tamper(
      statement(
        table()
          .updateTable('audit_events')
          .set({ actor: 'x' })
          .where('id', '=', rows.at(-1)?.id ?? 0),
      ),
    )
    expect((await verify(after)).fault).toMatchObject({ eventId: rows.at(-1)?.event_id })
  })

  it('is not broken by erasure', async () => {
    const user = await server.userWith(realm, [])
    await record(1, { actor: user.userId })
    await seal()
    await tamper(...server.areas.audit.personalKeys.destroyPersonalKey(realm, user.userId))
    expect((await verify()).fault).toBeNull()
  })

  it('may be checked by who may view events, and by nobody else', async () => {
    const viewer = await server.userWith(realm, ['view-events'])
    const url = `/admin/realms/${realm}/events/verification`
    expect((await viewer.send('GET', url)).status).toBe(200)
    const other = await server.userWith(realm, ['view-users'])
    expect((await other.send('GET', url)).status).toBe(403)
  })

  it('lets the keys of users go who are gone, when their last event is', async () => {
    const id = newId()
    await record(1, { actor: id, type: 'REGISTER' })
    const user = await server.userWith(realm, [])
    await record(1, { actor: user.userId })
    await seal()
    now += day
    await server.areas.audit.totals.advance(realm)
    await server.areas.audit.forgetEvents(realm, now)
    const { rows } = await sql<{ user_id: string }>`
      select user_id from personal_keys where realm = ${realm}`.execute(server.areas.storage.db)
    expect(rows).toEqual([{ user_id: user.userId }])
  })

  it('loses whole blocks to retention, keeps what the rest continues, and the totals agree', async () => {
    await sealThree()
    await record(4)
    now += 10 * day
    server = { ...server, admin: await server.signedIn('master', 'admin') }
    const settings = `/admin/realms/${realm}/settings`
    const { body } = await server.admin.send('GET', settings)
    const put = await server.admin.send('PUT', settings, { ...body, eventsExpiration: 5 * 86_400 })
    expect(put.status, JSON.stringify(put.body)).toBe(200)
    await record(6)
    await seal()
    now += 2 * 60_000
    await tidy(server.areas)
    // Those that were sealed only now are in one block with newer ones, and go when all of them are old.
    const kept = await events()
    expect(kept.length).toBeGreaterThan(6)
    const chain = await blocks()
    expect(chain[0]).toMatchObject({ leaves: null })
    const report = await verify()
    expect(report).toMatchObject({ fault: null, removedUpTo: chain[0]?.n, events: kept.length })
    const listed = await server.admin.send('GET', `/admin/realms/${realm}/events?size=1`)
    expect(listed.body.total).toBe((await events()).length)

    await tamper(
      statement(
        table()
          .deleteFrom('audit_events')
          .where('id', '=', kept[0]?.id ?? 0),
      ),
    )
    expect((await verify()).fault).toMatchObject({ kind: 'removed', eventId: kept[0]?.event_id })
  })
})
