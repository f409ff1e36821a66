/** Tokens for service accounts, against a bare handler that only signs, and against the npm package oidc-provider. */

import { Client } from '#schemas/kinds/client.ts'
import type { Parts } from '#server/parts.ts'
import { restDoor } from '#server/resources/operations.ts'
import { type Database, type Server, system } from '../backends.ts'
import { type Load, type Request, sendLoad } from '../load.ts'
import type { Measurement } from '../measurement.ts'
import { cpuOf, rssOf } from '../processes.ts'
import { median, medianRatio, quantile } from '../statistics.ts'

const ROUNDS = 5
const ROUND_MS = 2_000
const WARM_UP_MS = 6_000
const CONNECTIONS = 32
const realm = 'acme'
const secret = 'a quiet sentence about lamps, 32 or more'

const requestTo = (path: string): Request => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'service',
    client_secret: secret,
  }).toString(),
})

const fill = async ({ realms, writer }: Parts): Promise<void> => {
  await realms.create({ realm }, system)
  await writer.write({
    realm,
    caller: system,
    door: restDoor,
    operations: [
      {
        op: 'put',
        kind: Client,
        key: 'service',
        doc: {
          clientId: 'service',
          grantTypes: ['client_credentials'],
          tokenEndpointAuthMethod: 'client_secret_post',
        },
        secrets: { '/secret': secret },
      },
    ],
  })
}

interface Way {
  readonly what: string
  readonly on: string
  readonly server: Server
  readonly path: string
  readonly loads: Load[]
  /** Processor time of the server for a request, in µs. */
  readonly costs: number[]
}

const way = (what: string, on: string, server: Server, path: string): Way => ({
  what,
  on,
  server,
  path,
  loads: [],
  costs: [],
})

const run = async ({ server, path }: Way, ms: number): Promise<Load> => {
  const request = requestTo(path)
  return sendLoad(server.url, CONNECTIONS, { ms }, (connection) => connection.send(request, 200))
}

const measureRound = async (one: Way): Promise<void> => {
  const before = cpuOf(one.server.pid)
  const load = await run(one, ROUND_MS)
  one.costs.push((1000 * (cpuOf(one.server.pid) - before)) / load.times.length)
  one.loads.push(load)
}

export const measureClientCredentials: Measurement = async ({ backends, serveScript }) => {
  const databases: Database[] = []
  const scripts: Server[] = []
  const script = async (name: string): Promise<Server> => {
    const server = await serveScript(name)
    scripts.push(server)
    return server
  }
  try {
    const bare = way('sign and answer', 'bare node:http', await script('bare-signer'), '/token')
    const peer = way(
      'client_credentials, nothing recorded',
      'oidc-provider',
      await script('peer-oidc-provider'),
      '/token',
    )
    const ways = [bare, peer]
    for (const { name, create } of backends) {
      const database = await create()
      databases.push(database)
      await database.withParts(fill)
      const path = `/realms/${realm}/token`
      ways.push(way('client_credentials, recorded durably', name, await database.serve(), path))
    }
    for (const one of ways) await run(one, WARM_UP_MS)
    for (let round = 0; round < ROUNDS; round += 1) for (const one of ways) await measureRound(one)
    const rates = ({ loads }: Way): number[] => loads.map(({ perSecond }) => perSecond)
    return {
      title: 'tokens for service accounts (RS256, 2048 bits)',
      notes: [
        `${ROUNDS} interleaved rounds of ${ROUND_MS} ms; ${CONNECTIONS} connections, one process each; ratios are medians over rounds`,
        'the aims: 75 % of the bare handler on SQLite, 60 % on PostgreSQL, 1.2 times oidc-provider',
      ],
      rows: ways.map((one) => {
        const times = one.loads.flatMap((load) => load.times)
        return {
          what: one.what,
          on: one.on,
          'per s': median(rates(one)),
          'p50 ms': quantile(times, 0.5),
          'p99 ms': quantile(times, 0.99),
          'cpu µs': median(one.costs),
          'RSS MB': rssOf(one.server.pid),
          'of the bare handler': medianRatio(rates(one), rates(bare)),
          '× oidc-provider': medianRatio(rates(one), rates(peer)),
        }
      }),
    }
  } finally {
    for (const server of scripts) await server.stop()
    for (const database of databases) await database.remove()
  }
}
