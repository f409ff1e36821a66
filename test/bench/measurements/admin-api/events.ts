/** Filtered pages over 1,000,000 audit events. */

import { eventTypes } from '#schemas/wire/event-types.ts'
import { newId } from '#server/platform/ids.ts'
import type { Areas } from '#server/run/open.ts'
import { insertRows } from '#server/storage/statements.ts'
import { adminUrl } from '../../admin.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { signInAsAdmin } from '../../sign-in.ts'
import { quantile, timed } from '../../statistics.ts'

const EVENTS = 1_000_000
const BATCH = 10_000
const PAGES = { ms: 1_500, most: 200 }

const types = Object.entries(eventTypes)

const fill = async ({
  storage,
  realm: { realms },
  given: { clock },
  audit: { totals },
}: Areas): Promise<number> => {
  await realms.create({ realm: 'acme' }, system)
  const now = clock.now() - 3_600_000
  const { ms } = await timed(async () => {
    for (let start = 0; start < EVENTS; start += BATCH)
      await storage.commit(
        insertRows(
          storage.db,
          'audit_events',
          Array.from({ length: BATCH }, (_, i) => {
            const n = start + i
            const [type = 'LOGOUT', category = 'AUTHN'] = types[n % types.length] ?? []
            return {
              event_id: newId(),
              realm: 'acme',
              at: now + Math.floor(n / 1000),
              category,
              type,
              actor: `actor-${n % 5000}`,
              source_ip: '127.0.0.1',
              resource_type: null,
              resource_id: null,
              outcome: n % 10 === 0 ? 'FAILURE' : 'SUCCESS',
              detail: null,
              revision: null,
            }
          }),
        ),
      )
  })
  if (storage.dialect.name === 'postgres')
    await storage.commit([{ sql: 'analyze audit_events', parameters: [] }])
  // What the housekeeping of a running server does every few minutes.
  await totals.advance('acme')
  return ms
}

const queries = [
  'size=50',
  'size=50&page=100',
  'type=LOGIN_FAILURE',
  'category=SECURITY',
  'outcome=FAILURE',
  'type=LOGIN_SUCCESS&outcome=FAILURE',
  'actor=actor-77',
  'actor=actor-77&type=LOGOUT',
]

const askOn = async ({ url }: Server, on: string): Promise<Row[]> => {
  const headers = await signInAsAdmin(url)
  const rows: Row[] = []
  for (const query of queries) {
    const path = `${adminUrl('acme', 'events')}?${query}`
    let total = 0
    const { times } = await sendLoad(url, 1, PAGES, async (connection) => {
      const answer = await connection.send({ method: 'GET', path, headers }, 200)
      total = Number(JSON.parse(answer.body.toString()).total)
    })
    rows.push({
      what: query,
      on,
      total,
      'p50 ms': quantile(times, 0.5),
      'p99 ms': quantile(times, 0.99),
      requests: times.length,
    })
  }
  return rows
}

const measureOn = async (backend: Backend): Promise<Row[]> => {
  const database = await backend.create()
  try {
    const ms = await database.withParts(fill)
    const found = await askOn(await database.serve(), backend.name)
    const inserted = { what: `inserted in ${(ms / 1000).toFixed(1)} s`, on: backend.name }
    return [...found, inserted]
  } finally {
    await database.remove()
  }
}

export const measureEvents: Measurement = async ({ backends }) => {
  const rows: Row[] = []
  for (const backend of backends) rows.push(...(await measureOn(backend)))
  return {
    title: 'GET /events?… over 1,000,000 events of one realm',
    notes: ['one connection; exact totals included; PostgreSQL was analyzed'],
    rows,
  }
}
