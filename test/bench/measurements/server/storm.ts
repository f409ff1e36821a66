/** The effect of a burst of sign-ins on token requests of a client, against a bare handler under the same burst. */

import type { Server } from '../../backends.ts'
import { connect, type Load, sendLoad } from '../../load.ts'
import type { Bench, Measurement, Row } from '../../measurement.ts'
import * as party from '../../relying-party.ts'
import { openForm } from '../../sign-in.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const ROUNDS = 9
const ROUND_MS = 3_000
const WARM_UP_MS = 6_000
const SIGN_INS = 8
const CLIENTS = 2

interface Way {
  readonly on: string
  /** Where the tokens come from. */
  readonly tokens: Server
  readonly path?: string
  /** Where people sign in meanwhile. */
  readonly stormy: Server
  readonly loads: Load[]
  readonly storms: Load[]
}

const runRound = async ({ tokens, path, stormy, loads, storms }: Way, ms: number) => {
  const connection = connect(stormy.url)
  const form = await openForm(connection, party.person)
  await connection.close()
  const [storm, load] = await Promise.all([
    sendLoad(stormy.url, SIGN_INS, { ms }, (one) => one.send(form, 303)),
    sendLoad(tokens.url, CLIENTS, { ms }, (one) => one.send(party.clientCredentials(path), 200)),
  ])
  storms.push(storm)
  loads.push(load)
}

const p99 = (load: Load): number => quantile(load.times, 0.99)

const measure = async (
  { backends, serveScript }: Bench,
  ends: (() => Promise<void>)[],
): Promise<Row[]> => {
  const bare = await serveScript('bare-signer')
  ends.push(bare.stop)
  const pairs: { readonly limit: Way; readonly ours: Way }[] = []
  for (const { name, create } of backends) {
    const database = await create()
    ends.push(database.remove)
    await database.withParts(party.fillIssuer)
    const stormy = await database.serve()
    const way = (one: Pick<Way, 'on' | 'tokens' | 'path'>): Way => ({
      ...one,
      stormy,
      loads: [],
      storms: [],
    })
    pairs.push({
      limit: way({ on: `bare, beside ${name}`, tokens: bare, path: '/token' }),
      ours: way({ on: name, tokens: stormy }),
    })
  }
  const ways = pairs.flatMap(({ limit, ours }) => [limit, ours])
  for (const way of ways) {
    await runRound(way, WARM_UP_MS)
    way.loads.length = 0
    way.storms.length = 0
  }
  for (let round = 0; round < ROUNDS; round += 1)
    for (const way of ways) await runRound(way, ROUND_MS)
  return pairs.flatMap(({ limit, ours }) =>
    [limit, ours].map((way) => ({
      what: 'client_credentials beside sign-ins',
      on: way.on,
      'tokens per s': median(way.loads.map(({ perSecond }) => perSecond)),
      'p50 ms': median(way.loads.map(({ times }) => quantile(times, 0.5))),
      'p99 ms': median(way.loads.map(p99)),
      'sign-ins per s': median(way.storms.map(({ perSecond }) => perSecond)),
      'p99 × bare':
        way === ours ? medianRatio(way.loads.map(p99), limit.loads.map(p99)) : undefined,
    })),
  )
}

export const measureStorm: Measurement = async (bench) => {
  const ends: (() => Promise<void>)[] = []
  try {
    return {
      title: 'tokens during a storm of sign-ins',
      notes: [
        `${ROUNDS} interleaved rounds of ${ROUND_MS} ms; ${SIGN_INS} connections sign in without a pause, ${CLIENTS} ask for tokens`,
        'the aim: a p99 of at most twice that of the bare handler beside the same storm',
      ],
      rows: await measure(bench, ends),
    }
  } finally {
    for (const end of ends) await end()
  }
}
