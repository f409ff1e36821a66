/**
 * Refused workload JWTs: whether the time of the answer tells what is wrong with one. All causes are sent at
 * once, each on its own connection, and compared by their medians.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JWTPayload } from 'jose'
import { WorkloadIdentity } from '#schemas/kinds/provisioning/workload-identity.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { audience, exchangeForm, newAddress, subject } from '../../../workload/fixture.ts'
import { makeKey, openPlatform, type Platform } from '../../../workload/platform.ts'
import { type Backend, system } from '../../backends.ts'
import { connect, type Request } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import * as party from '../../relying-party.ts'
import { median, quantile, timed } from '../../statistics.ts'

const ROUNDS = 60
const WARM_UP = 5
const issuer = 'https://ci.example'
const disabled = 'repo:acme/disabled'

const fill =
  ({ jwksUri }: Platform) =>
  async (areas: Areas): Promise<void> => {
    await party.fillIssuer(areas)
    const clientId = new URLSearchParams(party.clientCredentials().body).get('client_id') ?? ''
    const common = { issuer, jwksUri, audience, clientId, claims: { ref_protected: 'true' } }
    await areas.realm.writer.write({
      realm: party.realm,
      caller: system,
      channel: restChannel,
      operations: [
        { ...common, name: 'enabled', subject },
        { ...common, name: 'disabled', subject: disabled, enabled: false },
      ].map((doc) => ({ op: 'put', kind: WorkloadIdentity, key: doc.name, doc, secrets: {} })),
    })
  }

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** All of them of about the same length, but for what is no JWT. */
const causesOf = async (platform: Platform): Promise<Readonly<Record<string, string>>> => {
  const iat = Math.floor(Date.now() / 1000)
  const good = { iss: issuer, sub: subject, aud: audience, iat, exp: iat + 3600 }
  const claims = { ...good, ref_protected: 'true' }
  const sign = (changes: JWTPayload = {}, header = {}) =>
    platform.sign({ ...claims, ...changes }, header)
  const [, body, signature] = (await sign()).split('.')
  const [known] = platform.keys
  const other = await makeKey('RS256', known?.kid)
  return {
    'no JWT': 'garbage',
    'alg none': `${encode({ alg: 'none', kid: known?.kid })}.${body}.${signature}`,
    'alg HS256': `${encode({ alg: 'HS256', kid: known?.kid })}.${body}.${signature}`,
    'a jku': await sign({}, { jku: platform.jwksUri }),
    'another issuer': await sign({ iss: 'https://xx.example' }),
    'another subject': await sign({ sub: `${subject.slice(0, -1)}x` }),
    'another audience': await sign({ aud: `${audience.slice(0, -1)}x` }),
    'two audiences': await sign({ aud: [audience, 'https://other.example'] }),
    'another key': await platform.sign(claims, {}, other),
    'an unknown kid': await platform.sign(claims, { kid: 'unknown' }, other),
    expired: await sign({ iat: iat - 7200, exp: iat - 3600 }),
    'too long a life': await sign({ exp: iat + 80_000 }),
    'another claim': await sign({ ref_protected: 'false' }),
    'a disabled credential': await sign({ sub: disabled }),
  }
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

const measureOn = async (backend: Backend, platform: Platform, trust: string): Promise<Row[]> => {
  const database = await backend.create()
  try {
    await database.withParts(fill(platform))
    const { url } = await database.serve({
      NODE_EXTRA_CA_CERTS: trust,
      IAMCTL_OUTGOING_ALLOW: 'localhost',
      IAMCTL_TRUSTED_PROXIES: '127.0.0.1',
    })
    const causes = Object.entries(await causesOf(platform)).map(([what, jwt]) => ({
      what,
      jwt,
      times: [] as number[],
      connection: connect(url),
    }))
    for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
      // The first of a round has the server for itself: each is the first in its turn.
      const turn = round % causes.length
      const inTurn = [...causes.slice(turn), ...causes.slice(0, turn)]
      await Promise.all(
        inTurn.map(async ({ jwt, times, connection }) => {
          const { ms } = await timed(() => connection.send(exchange(jwt), 401))
          if (round >= WARM_UP) times.push(ms)
        }),
      )
    }
    await Promise.all(causes.map(({ connection }) => connection.close()))
    const fastest = Math.min(...causes.map(({ times }) => median(times)))
    return causes.map(({ what, times }) => ({
      what,
      on: backend.name,
      'median ms': median(times),
      'p90 ms': quantile(times, 0.9),
      'max ms': Math.max(...times),
      '× the fastest': median(times) / fastest,
    }))
  } finally {
    await database.remove()
  }
}

export const measureWorkloadRefusals: Measurement = async ({ backends, progress }) => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-bench-'))
  const platform = await openPlatform()
  platform.keys = [await makeKey('RS256')]
  const trust = join(folder, 'ca.pem')
  writeFileSync(trust, platform.receiver.certificate)
  try {
    const rows: Row[] = []
    for (const backend of backends) {
      progress(backend.name)
      rows.push(...(await measureOn(backend, platform, trust)))
    }
    return {
      title: 'refused JWTs of workloads, by what is wrong with them',
      notes: [
        `${ROUNDS} rounds, in each of which every cause is sent on its own connection; the keys of the issuer are fetched again every 10 s`,
        'the aim: no cause can be told by its time, which is a second from the request to its refusal',
      ],
      rows,
    }
  } finally {
    await platform.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
