/**
 * The gain of each measure of `server/platform/tuning`: a server with all measures and one without this measure take
 * turns, on SQLite, on PostgreSQL with one node and on PostgreSQL with two. A ratio above 1 is a gain.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { type Tuning, tunings } from '#server/config/tunings.ts'
import type { Database, Server } from '../../backends.ts'
import { type Connection, connect, type Request, runLoad } from '../../load.ts'
import type { Bench, Measurement, Row } from '../../measurement.ts'
import { cpuOf, rssOf } from '../../processes.ts'
import * as party from '../../relying-party.ts'
import { mean, medianRatio } from '../../statistics.ts'

const PAIRS = 6
const ROUND_MS = 1_000
const WARM_UP_MS = 3_000
/** After the first requests and before the load: what an idle server holds. */
const IDLE_MS = 2_000
const CONNECTIONS = 32

const asked = ['client_credentials', 'introspection'] as const

/** The nodes of one server, all measures on but those that are off. */
interface Side {
  readonly nodes: readonly Server[]
  readonly requests: Readonly<Record<(typeof asked)[number], Request>>
  readonly idleMb: number
  readonly stop: () => Promise<void>
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
const memoryOf = ({ nodes }: Pick<Side, 'nodes'>): number => sum(nodes.map(({ pid }) => rssOf(pid)))

interface Round {
  readonly perSecond: number
  /** Processor time for a request, in µs. */
  readonly cost: number
}

const runRound = async ({ nodes }: Side, request: Request, ms: number): Promise<Round> => {
  const connections: Connection[] = Array.from({ length: CONNECTIONS }, (_, index) =>
    connect((nodes[index % nodes.length] as Server).url),
  )
  const used = (): number => sum(nodes.map(({ pid }) => cpuOf(pid)))
  const before = used()
  const load = await runLoad(CONNECTIONS, { ms }, (worker) =>
    (connections[worker] as Connection).send(request, 200),
  )
  const cost = (1000 * (used() - before)) / load.times.length
  await Promise.all(connections.map((connection) => connection.close()))
  return { perSecond: load.perSecond, cost }
}

const openSide = async (
  database: Database,
  nodeCount: number,
  off: readonly Tuning[],
): Promise<Side> => {
  const env = { IAMCTL_TUNING_OFF: off.join(',') }
  const nodes: Server[] = []
  while (nodes.length < nodeCount) nodes.push(await database.serve(off.length > 0 ? env : {}))
  const [first] = nodes as [Server]
  const [tokens] = await (await party.openVisit(first.url)).tokens(1)
  if (tokens === undefined) throw new Error('no tokens were issued')
  await sleep(IDLE_MS)
  return {
    nodes,
    requests: {
      client_credentials: party.clientCredentials(),
      introspection: party.introspect(tokens.access_token),
    },
    idleMb: memoryOf({ nodes }),
    stop: async () => {
      for (const node of nodes) await node.stop()
    },
  }
}

const comparePair = async (on: string, name: Tuning, all: Side, without: Side): Promise<Row> => {
  const row: Record<string, string | number> = { what: name, on }
  for (const what of asked) {
    const ours: Round[] = []
    const theirs: Round[] = []
    for (const side of [all, without]) await runRound(side, side.requests[what], WARM_UP_MS)
    for (let pair = 0; pair < PAIRS; pair += 1) {
      // The first of the two alternates, so that what slows down over time is in both.
      const turns = [
        async () => ours.push(await runRound(all, all.requests[what], ROUND_MS)),
        async () => theirs.push(await runRound(without, without.requests[what], ROUND_MS)),
      ]
      for (const turn of pair % 2 === 0 ? turns : turns.toReversed()) await turn()
    }
    row[`${what} per s`] = mean(ours.map(({ perSecond }) => perSecond))
    row[`${what} ×`] = medianRatio(
      ours.map(({ perSecond }) => perSecond),
      theirs.map(({ perSecond }) => perSecond),
    )
    row[`${what} cpu ×`] = medianRatio(
      theirs.map(({ cost }) => cost),
      ours.map(({ cost }) => cost),
    )
  }
  return {
    ...row,
    'idle MB': all.idleMb,
    'idle MB ×': without.idleMb / all.idleMb,
    'MB after ×': memoryOf(without) / memoryOf(all),
  }
}

const measureOn = async (
  { backends, progress }: Bench,
  { backend, nodes }: { readonly backend: string; readonly nodes: number },
): Promise<Row[]> => {
  const found = backends.find(({ name }) => name === backend)
  if (found === undefined) throw new Error(`there is no backend ${backend}`)
  const rows: Row[] = []
  for (const name of tunings) {
    const on = nodes === 1 ? backend : `${backend}, ${nodes} nodes`
    progress(`${name} on ${on}`)
    const databases = [await found.create(), await found.create()] as const
    try {
      for (const database of databases) await database.withParts(party.fillIssuer)
      const all = await openSide(databases[0], nodes, [])
      const without = await openSide(databases[1], nodes, [name])
      rows.push(await comparePair(on, name, all, without))
      await all.stop()
      await without.stop()
    } finally {
      for (const database of databases) await database.remove()
    }
  }
  return rows
}

export const measureTuning: Measurement = async (bench) => {
  const rows: Row[] = []
  for (const place of [
    { backend: 'SQLite', nodes: 1 },
    { backend: 'PostgreSQL', nodes: 1 },
    { backend: 'PostgreSQL', nodes: 2 },
  ])
    rows.push(...(await measureOn(bench, place)))
  return {
    title: 'What each measure for speed or memory brings',
    notes: [
      `${PAIRS} pairs of ${ROUND_MS} ms that take turns, ${CONNECTIONS} connections; ratios are medians of pairs`,
      'above 1 it brings something: rate with it to rate without, cost and memory without it to with it',
    ],
    rows,
  }
}
