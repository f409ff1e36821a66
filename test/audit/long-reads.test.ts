/** Reads of a long audit trail: other realms are answered meanwhile, and the number of concurrent reads is limited. */

import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../support/backends.ts'
import { amount } from '../support/run/chance.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'

const many = amount(24_000, 60_000, 60_000)
const types = ['LOGIN_SUCCESS', 'LOGIN_FAILURE', 'LOGOUT', 'REGISTER', 'VERIFY_EMAIL']
const begin = 1_700_000_000_000

describe.each(backends)('long reads on $name', (backend) => {
  let server: TestServer
  const events = '/admin/realms/large/events'
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('large')
    await server.createRealm('small')
    const {
      storage,
      audit: { sealEvents },
    } = server.areas
    await sealEvents()
    const type = sql`case i % 5 ${sql.join(
      types.map((name, i) => sql`when ${sql.lit(i)} then ${sql.lit(name)}`),
      sql` `,
    )} end`
    const fill = sql`with recursive n (i) as
        (select 1 union all select i + 1 from n where i < ${sql.lit(many)})
      insert into audit_events
        (event_id, realm, at, category, type, actor, source_ip, outcome)
      select 'e' || i, 'large', ${sql.lit(begin)} + i, 'AUTHN', ${type},
        'actor-' || (i % 7), '192.0.2.1', case i % 2 when 0 then 'SUCCESS' else 'FAILURE' end
      from n`
    await storage.commit([statement({ compile: () => fill.compile(storage.db) })])
    await sealEvents()
  })
  afterAll(() => server.close())

  const get = (url: string): Promise<Answer> => server.admin.send('GET', url)

  const noTime = 'dateFrom=2001-01-01T00:00:00Z&dateTo=2002-01-01T00:00:00Z'
  const long: [what: string, url: string][] = [
    ['reads with a filter that nothing passes', `${events}?${noTime}`],
    ['reads a deep page', `${events}?dateFrom=2001-01-01T00:00:00Z&page=${many / 50 - 1}`],
    ['is verified', `${events}/verification`],
  ]

  /** How often the event loop came round while a request was under way. */
  const turnsDuring = async (url: string): Promise<number> => {
    let turns = 0
    let isUnderWay = true
    const turn = (): void => {
      turns += 1
      if (isUnderWay) setImmediate(turn)
    }
    setImmediate(turn)
    expect((await get(url)).status).toBe(200)
    isUnderWay = false
    return turns
  }

  /**
   * Whether another realm is answered while nothing that reads events gets on. More reads than a pool has connections,
   * so that those beyond the bound of a realm are refused or wait without one.
   */
  const isAnsweredBeside = async (url: string): Promise<boolean> => {
    const client = new pg.Client(server.url)
    await client.connect()
    await client.query('begin; lock table audit_events in access exclusive mode')
    const asked = Array.from({ length: 12 }, () => get(url))
    for (let blocked = 0; blocked === 0; await setTimeout(50)) {
      const { rowCount } = await client.query(
        `select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`,
      )
      blocked = rowCount ?? 0
    }
    const other = get('/admin/realms/small/users').then(({ status }) => status === 200)
    const first = await Promise.race([other, setTimeout(10_000, false)])
    await client.end()
    for (const { status } of await Promise.all(asked)) expect([200, 429]).toContain(status)
    await other
    return first
  }

  if (backend.name === 'sqlite')
    it.each(long)('leave the event loop to others while a realm %s', async (_what, url) => {
      // Each part of a read is at least one turn, and there are dozens of parts.
      expect(await turnsDuring(url)).toBeGreaterThan(24)
    })
  else
    it.each(long)('leave connections to others while a realm %s', async (_what, url) => {
      await get('/admin/realms/small/users')
      expect(await isAnsweredBeside(url)).toBe(true)
    })

  it('find the same events by page, by cursor and in the table', async () => {
    const { db } = server.areas.storage
    const filter = fc.record(
      {
        type: fc.constantFrom(...types),
        actor: fc.constantFrom('actor-0', 'actor-5', 'nobody'),
        outcome: fc.constantFrom('SUCCESS', 'FAILURE'),
        category: fc.constantFrom('AUTHN', 'ADMIN'),
        dateFrom: fc.integer({ min: 0, max: many }),
        dateTo: fc.integer({ min: 0, max: many }),
      },
      { requiredKeys: [] },
    )
    const size = fc.integer({ min: 1, max: 500 })
    const page = fc.integer({ min: 0, max: 300 })
    await fc.assert(
      fc.asyncProperty(filter, size, page, async (asked, size, page) => {
        const { dateFrom, dateTo, ...equal } = asked
        const iso = (offset: number) => new Date(begin + offset).toISOString()
        const query = new URLSearchParams({
          ...equal,
          ...(dateFrom === undefined ? {} : { dateFrom: iso(dateFrom) }),
          ...(dateTo === undefined ? {} : { dateTo: iso(dateTo) }),
          size: String(size),
        })
        let rows = db.selectFrom('audit_events').where('realm', '=', 'large')
        for (const [column, value] of Object.entries(equal))
          rows = rows.where(column as 'type', '=', value)
        if (dateFrom !== undefined) rows = rows.where('at', '>=', begin + dateFrom)
        if (dateTo !== undefined) rows = rows.where('at', '<=', begin + dateTo)
        const { total } = await rows
          .select((eb) => eb.fn.countAll<number>().as('total'))
          .executeTakeFirstOrThrow()
        const expected = await rows
          .select('event_id')
          .orderBy('id', 'desc')
          .offset(page * size)
          .limit(2 * size)
          .execute()
        const ids = (answer: Answer): string[] =>
          answer.body.items.map(({ id }: { id: string }) => id)
        const found = await get(`${events}?${query}&page=${page}`)
        expect(found.body).toMatchObject({ total: Number(total), page, size })
        expect(ids(found)).toEqual(expected.slice(0, size).map(({ event_id }) => event_id))
        if (found.body.next === null) {
          expect(expected.length).toBeLessThan(size)
          return
        }
        const after = await get(`${events}?${query}&cursor=${found.body.next}`)
        expect(after.body.total).toBeNull()
        expect(ids(after)).toEqual(expected.slice(size).map(({ event_id }) => event_id))
      }),
      { numRuns: amount(12, 12, 100) },
    )
  })

  it('refuse a cursor together with a page', async () => {
    const { status, body } = await get(`${events}?cursor=5&page=1`)
    expect(status).toBe(400)
    expect(body.errors).toMatchObject([{ field: 'page', code: 'exclusive' }])
  })

  it.each([
    ['searches', `${events}?actor=actor-1&dateFrom=2001-01-01T00:00:00Z`, 52],
    ['verifications', `${events}/verification?after=0`, 5],
  ])(
    'of one realm are bounded: %s beyond those that wait are refused, other realms are not',
    async (_what, url, most) => {
      const asked = Array.from({ length: most + 3 }, () => get(url))
      const [other, ...answers] = await Promise.all([get(url.replace('large', 'small')), ...asked])
      expect(other.status).toBe(200)
      const refused = answers.filter(({ status }) => status !== 200)
      expect(refused).toHaveLength(3)
      for (const { status, headers, body } of refused) {
        expect({ status, retryAfter: headers['retry-after'] }).toEqual({
          status: 429,
          retryAfter: '2',
        })
        expect(body.detail).toContain('try again')
      }
      expect((await get(url)).status).toBe(200)
    },
  )
})
