/**
 * The issuer: tokens against a bare handler that only signs and against the npm package oidc-provider, reads against a
 * bare Fastify route that answers as many bytes. All take turns in one run; only ratios within it mean anything.
 */

import type { Server } from '../../backends.ts'
import { tellHeaders } from '../../limits/same-headers.ts'
import { type Connection, connect, type Load, type Request, sendLoad } from '../../load.ts'
import type { Bench, Measurement, Row } from '../../measurement.ts'
import { cpuOf, rssOf } from '../../processes.ts'
import * as party from '../../relying-party.ts'
import { mean, meanRatio, quantile } from '../../statistics.ts'

const ROUNDS = 18
const ROUND_MS = 1_000
const WARM_UP_MS = 6_000
const CONNECTIONS = 32
/** Codes are valid once and for a minute: they are fetched before each round, which ends with them. */
const CODES = 1_000

/** One of those that take turns. */
interface Way {
  readonly what: string
  readonly on: string
  readonly server: Server
  /** What it is compared with. */
  readonly limit?: Way
  /** What a round needs and is not measured. */
  readonly prepare?: () => Promise<void>
  readonly send: (connection: Connection) => Promise<unknown>
  /** Ends a round early. */
  readonly most?: number
  readonly loads: Load[]
  /** Processor time of the server for a request, in µs, all its threads together. */
  readonly costs: number[]
}

const way = (one: Omit<Way, 'loads' | 'costs'>): Way => ({ ...one, loads: [], costs: [] })

const repeating =
  (request: Request): Way['send'] =>
  (connection) =>
    connection.send(request, 200)

const runRound = async (one: Way, ms: number): Promise<void> => {
  await one.prepare?.()
  const before = cpuOf(one.server.pid)
  const { most = Number.POSITIVE_INFINITY } = one
  const load = await sendLoad(one.server.url, CONNECTIONS, { ms, most }, one.send)
  one.costs.push((1000 * (cpuOf(one.server.pid) - before)) / load.times.length)
  one.loads.push(load)
}

const measureInTurns = async (ways: readonly Way[]): Promise<void> => {
  for (const one of ways) {
    await runRound(one, WARM_UP_MS)
    one.loads.length = 0
    one.costs.length = 0
  }
  for (let round = 0; round < ROUNDS; round += 1)
    for (const one of ways) await runRound(one, ROUND_MS)
}

/** The routes that are compared with a bare one, each with a limit that answers as many bytes. */
const readsOn = async (
  on: string,
  server: Server,
  bare: Server,
  requests: Readonly<Record<string, Request>>,
): Promise<Way[]> => {
  const connection = connect(server.url)
  const ways: Way[] = []
  for (const [what, request] of Object.entries(requests)) {
    const answer = await connection.send(request, 200)
    const { body } = answer
    const bytes = { ...request, path: `/bytes/${body.length}` }
    const limit = way({
      what: `${request.method}, ${body.length} bytes`,
      on: 'bare Fastify',
      server: bare,
      prepare: () => tellHeaders(bare.url, '/headers', answer),
      send: repeating(bytes),
    })
    ways.push(limit, way({ what, on, server, limit, send: repeating(request) }))
  }
  await connection.close()
  return ways
}

const grantsOn = async (on: string, server: Server, limit: Way): Promise<Way[]> => {
  const visitor = await party.openVisit(server.url)
  const codes: string[] = []
  const refreshTokens = (await visitor.tokens(CONNECTIONS)).map((tokens) => tokens.refresh_token)
  const shared = { on, server, limit }
  return [
    way({
      ...shared,
      what: 'client_credentials, recorded durably',
      send: repeating(party.clientCredentials()),
    }),
    way({
      ...shared,
      what: 'refresh_token: two signatures',
      send: async (connection) => {
        const token = refreshTokens.pop()
        if (token === undefined) throw new Error('there is no refresh token left')
        const { body } = await connection.send(party.refresh(token), 200)
        refreshTokens.push((JSON.parse(body.toString()) as party.Tokens).refresh_token)
      },
    }),
    way({
      ...shared,
      what: 'authorization_code: two signatures',
      most: CODES,
      prepare: async () => {
        codes.splice(0, codes.length, ...(await visitor.codes(CODES)))
      },
      send: (connection) => connection.send(party.exchange(codes.pop() ?? ''), 200),
    }),
  ]
}

const waysOn = async (on: string, server: Server, signer: Way, bare: Server): Promise<Way[]> => {
  const [tokens] = await (await party.openVisit(server.url)).tokens(1)
  if (tokens === undefined) throw new Error('no tokens were issued')
  return [
    ...(await grantsOn(on, server, signer)),
    ...(await readsOn(on, server, bare, {
      introspection: party.introspect(tokens.access_token),
      userinfo: party.userinfo(tokens.access_token),
      JWKS: party.jwks,
      discovery: party.discovery,
    })),
  ]
}

const rates = ({ loads }: Way): number[] => loads.map(({ perSecond }) => perSecond)

const rowOf = (one: Way, peer: Way): Row => {
  const times = one.loads.flatMap((load) => load.times)
  const issues = one.what.startsWith('client_credentials')
  return {
    what: one.what,
    on: one.on,
    'per s': mean(rates(one)),
    'p50 ms': quantile(times, 0.5),
    'p99 ms': quantile(times, 0.99),
    'cpu µs': mean(one.costs),
    'RSS MB': rssOf(one.server.pid),
    'of the limit': one.limit ? meanRatio(rates(one), rates(one.limit)) : undefined,
    'cpu × limit': one.limit ? meanRatio(one.costs, one.limit.costs) : undefined,
    '× oidc-provider': issues ? meanRatio(rates(one), rates(peer)) : undefined,
  }
}

const measure = async (
  { backends, serveScript }: Bench,
  ends: (() => Promise<void>)[],
): Promise<Row[]> => {
  const script = async (name: string): Promise<Server> => {
    const server = await serveScript(name)
    ends.push(server.stop)
    return server
  }
  const token = repeating(party.clientCredentials('/token'))
  const signer = way({
    what: 'sign and answer',
    on: 'bare node:http',
    server: await script('bare-signer'),
    send: token,
  })
  const peer = way({
    what: 'client_credentials, nothing recorded',
    on: 'oidc-provider',
    server: await script('peer-oidc-provider'),
    limit: signer,
    send: token,
  })
  const bare = await script('bare-routes')
  const ways = [signer, peer]
  for (const { name, create } of backends) {
    const database = await create()
    ends.push(database.remove)
    await database.withParts(party.fillIssuer)
    const server = await database.serve()
    const connection = connect(server.url)
    await tellHeaders(
      signer.server.url,
      '/token',
      await connection.send(party.clientCredentials(), 200),
    )
    await connection.close()
    ways.push(...(await waysOn(name, server, signer, bare)))
  }
  await measureInTurns(ways)
  return ways.map((one) => rowOf(one, peer))
}

export const measureIssuer: Measurement = async (bench) => {
  const ends: (() => Promise<void>)[] = []
  try {
    return {
      title: 'the issuer (RS256, 2048 bits)',
      notes: [
        `${ROUNDS} interleaved rounds of ${ROUND_MS} ms, or ${CODES} codes; ${CONNECTIONS} connections, one process each; ratios are of all rounds together`,
        'cpu: user and system time of the server, all threads, not of PostgreSQL',
        'the aims for client_credentials: 75 % of the bare handler on SQLite, 60 % on PostgreSQL, 1.2 times oidc-provider; for reads 70 % of a bare route',
      ],
      rows: await measure(bench, ends),
    }
  } finally {
    for (const end of ends) await end()
  }
}
