/**
 * The exchange of a workload's JWT against client_credentials: one signature to verify besides the one to make. A storm of JWTs
 * that are none must not hold up the tokens of others.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { WorkloadIdentity } from '#schemas/kinds/provisioning/workload-identity.ts'
import { restDoor } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { audience, exchangeForm, newAddress, subject } from '../../../workload/fixture.ts'
import { makeKey, openPlatform, type Platform } from '../../../workload/platform.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { type Load, type Request, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import * as party from '../../relying-party.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const ROUNDS = 9
const ROUND_MS = 2_000
const WARM_UP_MS = 6_000
const CONNECTIONS = 16
const GARBAGE = 10_000
/** Each is refused after a second, and so sends two in a round: 10,000 in all. */
const GARBAGE_CONNECTIONS = Math.ceil((GARBAGE * 1000) / (ROUNDS * ROUND_MS))
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
      door: restDoor,
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

const load = (server: Server, ms: number, request: () => Request): Promise<Load> =>
  sendLoad(server.url, CONNECTIONS, { ms }, (connection) => connection.send(request(), 200))

/** Evenly: connections that begin together would send together every second. */
const sendGarbage = (server: Server): Promise<Load> =>
  sendLoad(server.url, GARBAGE_CONNECTIONS, { ms: ROUND_MS }, async (connection, begun) => {
    if (begun < GARBAGE_CONNECTIONS) await setTimeout((begun * 1000) / GARBAGE_CONNECTIONS)
    await connection.send(exchange('garbage'), 401)
  })

const p99 = (loads: readonly Load[]): number =>
  median(loads.map(({ times }) => quantile(times, 0.99)))

const measureOn = async (backend: Backend, platform: Platform, trust: string): Promise<Row[]> => {
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
    const rounds = {
      client_credentials: [] as Load[],
      'workload JWT (RS256)': [] as Load[],
      'client_credentials in a storm of garbage': [] as Load[],
    }
    await load(server, WARM_UP_MS, () => credentials)
    await load(server, WARM_UP_MS, next)
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.client_credentials.push(await load(server, ROUND_MS, () => credentials))
      rounds['workload JWT (RS256)'].push(await load(server, ROUND_MS, next))
      const [during] = await Promise.all([
        load(server, ROUND_MS, () => credentials),
        sendGarbage(server),
      ])
      rounds['client_credentials in a storm of garbage'].push(during)
    }
    const rates = (loads: readonly Load[]): number[] => loads.map(({ perSecond }) => perSecond)
    return Object.entries(rounds).map(([what, loads]) => ({
      what,
      on: backend.name,
      'per second': Math.round(median(rates(loads))),
      'p99 ms': p99(loads),
      'of client_credentials': medianRatio(rates(loads), rates(rounds.client_credentials)),
      'p99 × alone': p99(loads) / p99(rounds.client_credentials),
    }))
  } finally {
    await database.remove()
  }
}

export const measureWorkload: Measurement = async ({ backends }) => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-bench-'))
  const platform = await openPlatform()
  platform.keys = [await makeKey('RS256')]
  const trust = join(folder, 'ca.pem')
  writeFileSync(trust, platform.receiver.certificate)
  try {
    const rows: Row[] = []
    for (const backend of backends) rows.push(...(await measureOn(backend, platform, trust)))
    return {
      title: 'tokens for the JWTs of workloads',
      notes: [
        `${ROUNDS} interleaved rounds of ${ROUND_MS} ms over ${CONNECTIONS} connections; the keys of the issuer are known`,
        'the aim is 60 % of client_credentials: a signature is verified besides the one that is made',
        `the storm: ${GARBAGE} JWTs that are none, evenly over ${GARBAGE_CONNECTIONS} connections, from the same process as the load`,
      ],
      rows,
    }
  } finally {
    await platform.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
