/**
 * The exchange of a workload's JWT against client_credentials: one signature to verify besides the one to make. A storm of JWTs
 * that are none must not hold up the tokens of others.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WorkloadIdentity } from '#schemas/kinds/provisioning/workload-identity.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { audience, exchangeForm, newAddress, subject } from '../../../workload/fixture.ts'
import { makeKey, openPlatform, type Platform } from '../../../workload/platform.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { startGarbage } from '../../garbage-thread.ts'
import { type Load, type Request, sendEvenly, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import * as party from '../../relying-party.ts'
import { median, medianRatio, quantile, timed } from '../../statistics.ts'

const ROUNDS = 9
const ROUND_MS = 2_000
const WARM_UP_MS = 6_000
const CONNECTIONS = 16
/** What others ask for beside a storm, of what the server can issue: their times are the server's, and no queue of their own. */
const OTHERS = 1 / 4
/** JWTs that are none, and the connections of those who send them: each sends its next one when one is refused. */
const GARBAGE = 10_000
const GARBAGE_CONNECTIONS = 500
/** Limits count by issuer too. */
const issuers = Array.from({ length: 8 }, (_, i) => `https://ci-${i}.example`)

const fill =
  ({ jwksUri }: Platform) =>
  async (areas: Areas): Promise<void> => {
    await party.fillIssuer(areas)
    const clientId = new URLSearchParams(party.clientCredentials().body).get('client_id') ?? ''
    await areas.realm.writer.write({
      realm: party.realm,
      caller: system,
      channel: restChannel,
      operations: issuers.map((issuer) => ({
        op: 'put',
        kind: WorkloadIdentity,
        key: issuer,
        doc: { name: issuer, issuer, jwksUri, subject, audience, clientId },
        secrets: {},
      })),
    })
  }

/** Each from an address of its own: limits count by address. */
const exchange = (jwt: string): Request => ({
  method: 'POST',
  path: `/realms/${party.realm}/workload-identity/token`,
  headers: {
    'content-type': 'application/x-www-form-urlencoded',
    'x-forwarded-for': newAddress(),
  },
  body: new URLSearchParams(exchangeForm(jwt)).toString(),
})

const jwtsOf = (platform: Platform): Promise<string[]> => {
  const iat = Math.floor(Date.now() / 1000)
  const claims = { sub: subject, aud: audience, iat, exp: iat + 7200 }
  return Promise.all(issuers.map((iss) => platform.sign({ iss, ...claims })))
}

const load = ({ url }: Server, ms: number, request: () => Request): Promise<Load> =>
  sendLoad(url, CONNECTIONS, { ms }, (connection) => connection.send(request(), 200))

const startStorm = ({ url }: Server) =>
  startGarbage({
    url,
    request: exchange('garbage'),
    status: 401,
    connections: GARBAGE_CONNECTIONS,
    most: GARBAGE,
  })

/** What others got while a storm lasted, and how fast it was refused. */
interface Storm {
  readonly loads: readonly Load[]
  readonly perSecond: number
}

interface Around {
  readonly platform: Platform
  /** A file with the certificate of the platform. */
  readonly trust: string
  /** Takes a storm in place of the server. */
  readonly refuser: Server
}

const measureOn = async (
  backend: Backend,
  { platform, trust, refuser }: Around,
): Promise<Row[]> => {
  const database = await backend.create()
  try {
    await database.withParts(fill(platform))
    const server = await database.serve({
      NODE_EXTRA_CA_CERTS: trust,
      IAMCTL_OUTGOING_ALLOW: 'localhost',
      IAMCTL_TRUSTED_PROXIES: '127.0.0.1',
    })
    const jwts = await jwtsOf(platform)
    let sent = 0
    const next = (): Request => {
      sent += 1
      return exchange(jwts[sent % jwts.length] ?? '')
    }
    const credentials = party.clientCredentials()
    const rounds = { credentials: [] as Load[], exchange: [] as Load[] }
    const alone: Load[] = []
    const someCredentials = () => {
      const perSecond = OTHERS * median(rounds.credentials.map((done) => done.perSecond))
      const evenly = { perSecond, ms: ROUND_MS, connections: CONNECTIONS }
      return sendEvenly(server.url, evenly, (connection) => connection.send(credentials, 200))
    }
    /** Until the last of the storm is refused. */
    const besideStorm = async (target: Server): Promise<Storm> => {
      const { ended } = await startStorm(target)
      const loads: Load[] = []
      let isOver = false
      const { ms } = await timed(async () => {
        const over = ended.then(() => {
          isOver = true
        })
        while (!isOver) loads.push(await someCredentials())
        await over
      })
      return { loads, perSecond: (GARBAGE * 1000) / ms }
    }
    await load(server, WARM_UP_MS, () => credentials)
    await load(server, WARM_UP_MS, next)
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.credentials.push(await load(server, ROUND_MS, () => credentials))
      rounds.exchange.push(await load(server, ROUND_MS, next))
    }
    const quietly = async (): Promise<void> => {
      for (let round = 0; round < ROUNDS; round += 1) alone.push(await someCredentials())
    }
    // Before the storms, between them and after them: the speed of a machine changes while they last.
    await quietly()
    const elsewhere = await besideStorm(refuser)
    await quietly()
    const beside = await besideStorm(server)
    await quietly()
    const rates = (loads: readonly Load[]): number[] => loads.map(({ perSecond }) => perSecond)
    const p99 = (loads: readonly Load[]): number =>
      quantile(
        loads.flatMap(({ times }) => times),
        0.99,
      )
    const rowOf = (what: string, loads: readonly Load[]): Row => ({
      what,
      on: backend.name,
      'per second': Math.round(median(rates(loads))),
      'p99 ms': p99(loads),
    })
    const stormRow = (what: string, { loads, perSecond }: Storm): Row => ({
      ...rowOf(what, loads),
      'p99 × alone': p99(loads) / p99(alone),
      'refused per second': Math.round(perSecond),
    })
    return [
      rowOf('client_credentials', rounds.credentials),
      {
        ...rowOf('workload JWT (RS256)', rounds.exchange),
        'of client_credentials': medianRatio(rates(rounds.exchange), rates(rounds.credentials)),
      },
      rowOf('client_credentials of others, at a quarter of that rate', alone),
      stormRow('the same while a bare handler takes the garbage', elsewhere),
      stormRow('the same while the server takes the garbage', beside),
    ]
  } finally {
    await database.remove()
  }
}

export const measureWorkload: Measurement = async ({ backends, serveScript }) => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-bench-'))
  const platform = await openPlatform()
  platform.keys = [await makeKey('RS256')]
  const trust = join(folder, 'ca.pem')
  writeFileSync(trust, platform.receiver.certificate)
  const refuser = await serveScript('bare-refuser')
  try {
    const rows: Row[] = []
    for (const backend of backends)
      rows.push(...(await measureOn(backend, { platform, trust, refuser })))
    return {
      title: 'tokens for the JWTs of workloads',
      notes: [
        `${ROUNDS} interleaved rounds of ${ROUND_MS} ms over ${CONNECTIONS} connections; the keys of the issuer are known`,
        'the aim is 60 % of client_credentials: a signature is verified besides the one that is made',
        `the storm: ${GARBAGE} JWTs that are none, over ${GARBAGE_CONNECTIONS} connections from a thread of its own, each of which sends its next when one is refused; to the server, which refuses at its pace, and to a bare handler that refuses each after a second, which shows what the same callers cost the machine`,
        'p99 over all requests while the storm lasts, and over the quiet rounds before and after both storms',
      ],
      rows,
    }
  } finally {
    await refuser.stop()
    await platform.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
