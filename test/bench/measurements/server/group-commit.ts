/** Appends of one audit row each by many callers, against a transaction for every row. */

import { newId } from '#server/platform/ids.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { parseLocation } from '#server/storage/location.ts'
import { openStorage } from '#server/storage/open.ts'
import { openWriting } from '#server/storage/sqlite/connections.ts'
import { runGroup, writeConnection } from '#server/storage/sqlite/group.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { Backend } from '../../backends.ts'
import { type Load, runLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const ROUNDS = 5
const ROUND_MS = 800
const CALLERS = 64
const MOST = 200_000

const auditRow = ({ db }: Pick<Storage, 'db'>): Statement[] =>
  insertRows(db, 'audit_events', [
    {
      event_id: newId(),
      realm: 'acme',
      at: Date.now(),
      category: 'AUTHENTICATION',
      type: 'LOGIN_SUCCESS',
      actor: '019a8432-0000-7000-8000-000000000000',
      source_ip: '127.0.0.1',
      resource_type: null,
      resource_id: null,
      outcome: 'SUCCESS',
      detail: null,
      revision: null,
    },
  ])

interface Single {
  readonly name: string
  readonly write: () => Promise<unknown>
  readonly close: () => void
}

/**
 * `commit` of the SQLite storage joins groups as `append` does, so the same code runs here without its thread and
 * with groups of one. PostgreSQL has a transaction per commit, on as many connections as the pool has.
 */
const singleOn = (url: string, storage: Storage): Single => {
  const location = parseLocation(url)
  if (location.kind === 'postgres')
    return {
      name: 'a transaction per row, 8 connections',
      write: () => storage.commit(auditRow(storage)),
      close: () => {},
    }
  const database = openWriting(location.file)
  const connection = writeConnection(database)
  return {
    name: 'a transaction per row, no thread',
    write: async () => {
      const [outcome] = runGroup(connection, [{ id: 1, statements: auditRow(storage) }])
      if (outcome === undefined || !('results' in outcome)) throw new Error('the row was refused')
    },
    close: () => database.close(),
  }
}

const measureOn = async (backend: Backend): Promise<Row[]> => {
  const database = await backend.create()
  const storage = await openStorage({ url: database.url })
  const single = singleOn(database.url, storage)
  const ways = [
    {
      name: 'storage.append, grouped',
      callers: CALLERS,
      write: () => storage.append(auditRow(storage)),
    },
    { name: single.name, callers: CALLERS, write: single.write },
    {
      name: 'storage.append, one caller',
      callers: 1,
      write: () => storage.append(auditRow(storage)),
    },
  ]
  try {
    for (const { callers, write } of ways) await runLoad(callers, { ms: 300, most: MOST }, write)
    const loads: Load[][] = ways.map(() => [])
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [index, { callers, write }] of ways.entries())
        loads[index]?.push(await runLoad(callers, { ms: ROUND_MS, most: MOST }, write))
    const rates = loads.map((rounds) => rounds.map(({ perSecond }) => perSecond))
    return ways.map(({ name, callers }, index) => {
      const times = (loads[index] ?? []).flatMap((load) => load.times)
      return {
        what: name,
        on: backend.name,
        callers,
        'rows/s': median(rates[index] ?? []),
        'p50 ms': quantile(times, 0.5),
        'p99 ms': quantile(times, 0.99),
        '× transaction per row': medianRatio(rates[index] ?? [], rates[1] ?? []),
      }
    })
  } finally {
    single.close()
    await storage.close()
    await database.remove()
  }
}

export const measureGroupCommit: Measurement = async ({ backends }) => {
  const rows: Row[] = []
  for (const backend of backends) rows.push(...(await measureOn(backend)))
  return {
    title: 'durable audit rows, one per call, in process',
    notes: [
      `${ROUNDS} interleaved rounds of ${ROUND_MS} ms; fsync on for both (synchronous=FULL, fsync=on)`,
      'on a disk whose fsync waits the ratio grows: here it returns at once, so most of the work is the same',
    ],
    rows,
  }
}
