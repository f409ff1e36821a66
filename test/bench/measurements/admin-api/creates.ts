/** Creating clients and users through the admin API, against a bare handler under the same generator. */

import { adminUrl, createRealm } from '../../admin.ts'
import type { Server } from '../../backends.ts'
import { connect, type Load, type Request, sendLoad } from '../../load.ts'
import type { Bench, Measurement, Row } from '../../measurement.ts'
import { cpuOf } from '../../processes.ts'
import { type Headers, signInAsAdmin } from '../../sign-in.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const ROUNDS = 3
const ROUND_MS = 1_200
/** Until the code of a request is compiled; a cold server takes twice the time for its first thousand. */
const WARM_MS = 2_000
const CONNECTIONS = [1, 16]
/** So that a much faster machine does not measure a realm of another size. */
const MOST = 5_000

interface Round extends Load {
  /** Of the server's process alone: it hardly depends on what else the machine does. */
  readonly cpuMs: number
}

interface Target {
  readonly name: string
  readonly server: Server
  readonly request: (kind: Kind) => Request
}

let made = 0

const bodies = {
  clients: () => ({
    clientId: `bench-${made}`,
    name: `Client ${made} of the benchmark`,
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [`https://client-${made}.example/callback`],
    webOrigins: [`https://client-${made}.example`],
    scopes: ['profile', 'email'],
  }),
  users: () => ({
    username: `bench-${made}`,
    email: `bench-${made}@mail.example`,
    firstName: 'Bench',
    lastName: `Number ${made}`,
    enabled: true,
  }),
}

type Kind = keyof typeof bodies
const kinds: readonly Kind[] = ['clients', 'users']

const bodyOf = (kind: Kind): string => {
  made += 1
  return JSON.stringify(bodies[kind]())
}

const creating = (headers: Headers) => (kind: Kind) =>
  ({ method: 'POST', path: adminUrl('acme', kind), headers, body: bodyOf(kind) }) as const

const answerSize = async ({ server, request }: Target, kind: Kind): Promise<number> => {
  const connection = connect(server.url)
  try {
    return (await connection.send(request(kind), 201)).body.length
  } finally {
    await connection.close()
  }
}

const bareTarget = async (bench: Bench, like: Target): Promise<Target> => {
  const sizes = {
    clients: await answerSize(like, 'clients'),
    users: await answerSize(like, 'users'),
  }
  // The same headers in, although the handler does not look at them.
  const { headers = {} } = like.request('clients')
  return {
    name: 'bare node:http',
    server: await bench.serveBare(),
    request: (kind) => ({
      method: 'POST',
      path: `/bytes/${sizes[kind]}`,
      headers,
      body: bodyOf(kind),
    }),
  }
}

const loadOn = async (
  { server, request }: Target,
  kind: Kind,
  connections: number,
  ms: number,
): Promise<Round> => {
  const before = cpuOf(server.pid)
  const load = await sendLoad(server.url, connections, { ms, most: MOST }, (connection) =>
    connection.send(request(kind), 201),
  )
  return { ...load, cpuMs: cpuOf(server.pid) - before }
}

const compare = async (
  targets: readonly Target[],
  kind: Kind,
  connections: number,
): Promise<Row[]> => {
  const rounds = new Map<string, Round[]>(targets.map(({ name }) => [name, []]))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const target of targets)
      rounds.get(target.name)?.push(await loadOn(target, kind, connections, ROUND_MS))
  const rates = (name: string): number[] =>
    (rounds.get(name) ?? []).map(({ perSecond }) => perSecond)
  const bare = rates('bare node:http')
  return targets.map(({ name }) => {
    const mine = rounds.get(name) ?? []
    const times = mine.flatMap((load) => load.times)
    const cpu = mine.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
    return {
      what: `POST /${kind}`,
      connections,
      on: name,
      'per s': median(rates(name)),
      'p50 ms': quantile(times, 0.5),
      'p99 ms': quantile(times, 0.99),
      'of bare': medianRatio(rates(name), bare),
      'CPU µs each': (1000 * cpu) / times.length,
    }
  })
}

export const measureCreates: Measurement = async (bench) => {
  const databases = await Promise.all(
    bench.backends.map(async ({ name, create }) => ({ name, database: await create() })),
  )
  let bare: Target | undefined
  try {
    const targets: Target[] = []
    for (const { name, database } of databases) {
      const server = await database.serve()
      const headers = await signInAsAdmin(server.url)
      await createRealm(server.url, headers, 'acme')
      targets.push({ name, server, request: creating(headers) })
    }
    const [first] = targets
    if (first === undefined) throw new Error('there is no backend')
    bare = await bareTarget(bench, first)
    const all = [bare, ...targets]
    for (const kind of kinds) for (const target of all) await loadOn(target, kind, 16, WARM_MS)
    const rows: Row[] = []
    for (const kind of kinds)
      for (const connections of CONNECTIONS) rows.push(...(await compare(all, kind, connections)))
    return {
      title: 'admin creates through HTTP',
      notes: [
        `${ROUNDS} interleaved rounds of ${ROUND_MS} ms after a warm-up of ${2 * WARM_MS} ms; stdout of the server goes to a file`,
        'a client is a revision of its realm with history and audit, so those of one realm queue up',
        'CPU is that of the server process without its database server',
        'the bare handler parses the same JSON and answers 201 with as many bytes; ratios are medians over rounds',
      ],
      rows,
    }
  } finally {
    await bare?.server.stop()
    for (const { database } of databases) await database.remove()
  }
}
