/** A realm of 10,000 clients: how long one write of them takes, and the list of them. */

import type { Doc } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { type Operation, restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { adminUrl } from '../../admin.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { connect } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { rssOf } from '../../processes.ts'
import { signInAsAdmin } from '../../sign-in.ts'
import { median, quantile, timed } from '../../statistics.ts'

const SIZES = [1_000, 10_000]
const REPEATS = 5
const PAGES = 20

const put = (n: number): Operation => {
  const clientId = `client-${String(n).padStart(5, '0')}`
  const doc: Doc = {
    clientId,
    name: `Client ${n}`,
    publicClient: true,
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [`https://${clientId}.example/callback`],
    webOrigins: [`https://${clientId}.example`],
    scopes: ['profile', 'email'],
    tokenEndpointAuthMethod: 'none',
  }
  return { op: 'put', kind: Client, key: clientId, doc, secrets: {}, expect: { exists: false } }
}

const realmOf = (size: number): string => `clients-${size}`

/** One write of so many documents: a dry run first, which gathers and decides, then the whole. */
const writeMany = async (areas: Areas, size: number, on: string): Promise<Row> => {
  await areas.realm.realms.create({ realm: realmOf(size) }, system)
  const request = {
    realm: realmOf(size),
    caller: system,
    channel: restChannel,
    operations: Array.from({ length: size }, (_, n) => put(n)),
  }
  const decided = await timed(() => areas.realm.writer.write({ ...request, dryRun: true }))
  const whole = await timed(() => areas.realm.writer.write(request))
  return {
    what: `one write of ${size.toLocaleString('en')} clients`,
    on,
    ms: whole.ms,
    'of it decide': decided.ms,
    'µs each': (1000 * whole.ms) / size,
  }
}

const readLists = async ({ url, pid }: Server, on: string): Promise<Row[]> => {
  const headers = await signInAsAdmin(url)
  const connection = connect(url)
  const get = (size: number, query = '') =>
    timed(() =>
      connection.send(
        { method: 'GET', path: `${adminUrl(realmOf(size), 'clients')}${query}`, headers },
        200,
      ),
    )
  const rows: Row[] = []
  try {
    // Code that no request has run yet would be compiled on the first list.
    await get(SIZES[0] ?? 0, '?max=100')
    for (const size of SIZES) {
      const before = rssOf(pid)
      const cold = await get(size)
      const after = rssOf(pid)
      const warm: number[] = []
      for (let n = 0; n < REPEATS; n += 1) warm.push((await get(size)).ms)
      const what = `GET /clients of ${size.toLocaleString('en')}`
      const bytes = cold.value.body.length
      rows.push(
        { what: `${what}, first`, on, ms: cold.ms, bytes, 'RSS MB': before, 'RSS after': after },
        {
          what: `${what}, again (median of ${REPEATS})`,
          on,
          ms: median(warm),
          bytes,
          'RSS after': rssOf(pid),
        },
      )
    }
    for (const first of [0, 9_900]) {
      const times: number[] = []
      for (let n = 0; n < PAGES; n += 1)
        times.push((await get(10_000, `?first=${first}&max=100`)).ms)
      rows.push({
        what: `GET /clients?first=${first}&max=100 (p50, p99 ${quantile(times, 0.99).toFixed(1)})`,
        on,
        ms: median(times),
      })
    }
  } finally {
    await connection.close()
  }
  return rows
}

const measureOn = async (backend: Backend): Promise<Row[]> => {
  const database = await backend.create()
  try {
    const writes = await database.withParts(async (areas) => {
      const rows: Row[] = []
      for (const size of SIZES) rows.push(await writeMany(areas, size, backend.name))
      return rows
    })
    return [...writes, ...(await readLists(await database.serve(), backend.name))]
  } finally {
    await database.remove()
  }
}

export const measureLists: Measurement = async ({ backends }) => {
  const rows: Row[] = []
  for (const backend of backends) rows.push(...(await measureOn(backend)))
  return {
    title: 'realms of 1,000 and 10,000 clients',
    notes: [
      'a write is gather + decide + commit with history, changes log and audit, in this process',
      'lists are answered by the server process, which starts with an empty copy of the realm',
    ],
    rows,
  }
}
