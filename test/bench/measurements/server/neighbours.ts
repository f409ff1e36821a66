/** The effect of searches and verifications of one realm's audit trail on other realms: their p99 with and without them. */

import { sql } from 'kysely'
import type { Areas } from '#server/run/open.ts'
import { statement } from '#server/storage/statements.ts'
import { adminUrl } from '../../admin.ts'
import { type Backend, system } from '../../backends.ts'
import { type Load, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { signInAsAdmin } from '../../sign-in.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const EVENTS = 300_000
const ROUNDS = 7
const ROUND_MS = 3_000
const NEIGHBOURS = 2

const fill = async ({
  storage,
  realm: { realms },
  audit: { sealEvents },
}: Areas): Promise<void> => {
  for (const realm of ['busy', 'quiet']) await realms.create({ realm }, system)
  const rows = sql`with recursive n (i) as
      (select 1 union all select i + 1 from n where i < ${sql.lit(EVENTS)})
    insert into audit_events (event_id, realm, at, category, type, actor, source_ip, outcome)
    select 'e' || i, 'busy', 1700000000000 + i, 'AUTHN', 'LOGOUT', 'actor-' || (i % 7), '192.0.2.1', 'SUCCESS'
    from n`
  await storage.commit([statement({ compile: () => rows.compile(storage.db) })])
  await sealEvents()
}

const reads = [
  adminUrl('busy', 'events?dateFrom=2001-01-01T00:00:00Z&dateTo=2002-01-01T00:00:00Z'),
  adminUrl('busy', `events?dateFrom=2001-01-01T00:00:00Z&page=${EVENTS / 50 - 1}`),
  adminUrl('busy', 'events/verification'),
]

const p99 = ({ times }: Load): number => quantile(times, 0.99)

const measureOn = async (backend: Backend): Promise<Row[]> => {
  const database = await backend.create()
  try {
    await database.withParts(fill)
    const { url } = await database.serve()
    const headers = await signInAsAdmin(url)
    const path = adminUrl('quiet', 'settings')
    const ask = (ms: number) =>
      sendLoad(url, NEIGHBOURS, { ms }, (one) => one.send({ method: 'GET', path, headers }, 200))
    const read = (ms: number) =>
      sendLoad(url, reads.length, { ms }, (one, begun) =>
        one.send({ method: 'GET', path: reads[begun % reads.length] ?? '', headers }, 200),
      )
    const alone: Load[] = []
    const beside: Load[] = []
    let answered = 0
    await Promise.all([ask(ROUND_MS), read(ROUND_MS)])
    for (let round = 0; round < ROUNDS; round += 1) {
      alone.push(await ask(ROUND_MS))
      const [load, long] = await Promise.all([ask(ROUND_MS), read(ROUND_MS)])
      beside.push(load)
      answered += long.times.length
    }
    return [
      { what: 'without', on: backend.name, 'p99 ms': median(alone.map(p99)) },
      {
        what: 'beside long reads',
        on: backend.name,
        'p99 ms': median(beside.map(p99)),
        'p99 × without': medianRatio(beside.map(p99), alone.map(p99)),
        'long reads': answered,
      },
    ]
  } finally {
    await database.remove()
  }
}

export const measureNeighbours: Measurement = async ({ backends }) => {
  const rows: Row[] = []
  for (const backend of backends) rows.push(...(await measureOn(backend)))
  return {
    title: 'GET /settings of a realm beside another that reads its audit trail',
    notes: [
      `${ROUNDS} interleaved rounds of ${ROUND_MS} ms; ${NEIGHBOURS} connections ask, ${reads.length} read ${EVENTS} events: a filter that nothing passes, the last page, the verification`,
    ],
    rows,
  }
}
