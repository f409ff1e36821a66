/**
 * The cost of webhooks for a token request, without and with a subscription to its event, in turns; and the rate at which
 * a backlog of events reaches a receiver.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from '#schemas/kinds/notifications/webhook.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { openReceiver, type Receiver } from '../../../audit/receiver.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { cpuOf } from '../../processes.ts'
import * as party from '../../relying-party.ts'
import { median, medianRatio } from '../../statistics.ts'

const ROUNDS = 5
/** Tokens of a round. */
const TOKENS = 500
const CONNECTIONS = 16

const subscribe =
  (url: string) =>
  async (areas: Areas): Promise<void> => {
    await party.fillIssuer(areas)
    await areas.realm.writer.write({
      realm: 'acme',
      caller: system,
      channel: restChannel,
      operations: [
        {
          op: 'put',
          kind: Webhook,
          key: 'hook',
          doc: { name: 'hook', url, eventTypes: 'CLIENT_LOGIN' },
          secrets: { '/secret': 'a secret' },
        },
      ],
    })
  }

interface Round {
  /** Processor time of the server for a token, µs; of everything that the token led to. */
  readonly cost: number
  readonly tokensPerSecond: number
  readonly deliveriesPerSecond: number
}

/** Until every event has arrived: what is done later counts too. */
const runRound = async ({ url, pid }: Server, receiver: Receiver | null): Promise<Round> => {
  const arrived = (): number => receiver?.received.length ?? TOKENS
  receiver?.received.splice(0)
  const before = cpuOf(pid)
  const began = performance.now()
  const request = party.clientCredentials()
  const load = await sendLoad(url, CONNECTIONS, { ms: 60_000, most: TOKENS }, (connection) =>
    connection.send(request, 200),
  )
  while (arrived() < TOKENS) await sleep(5)
  const ms = performance.now() - began
  // The last of them are written down.
  await sleep(200)
  return {
    cost: (1000 * (cpuOf(pid) - before)) / TOKENS,
    tokensPerSecond: load.perSecond,
    deliveriesPerSecond: (1000 * TOKENS) / ms,
  }
}

const measureOn = async (backend: Backend, receiver: Receiver, trust: string): Promise<Row[]> => {
  const [quiet, loud] = [await backend.create(), await backend.create()]
  const env = { NODE_EXTRA_CA_CERTS: trust, IAMCTL_OUTGOING_ALLOW: 'localhost' }
  try {
    await quiet.withParts(party.fillIssuer)
    await loud.withParts(subscribe(receiver.url('/hook')))
    const ways = [
      { what: 'client_credentials, no webhook', server: await quiet.serve(env), to: null },
      { what: 'client_credentials, one webhook', server: await loud.serve(env), to: receiver },
    ]
    const rounds = new Map(ways.map((way) => [way, [] as Round[]]))
    for (let round = 0; round <= ROUNDS; round += 1)
      for (const [way, done] of rounds) {
        const one = await runRound(way.server, way.to)
        // The first only warms up.
        if (round > 0) done.push(one)
      }
    const [without = [], withOne = []] = rounds.values()
    const costs = (all: readonly Round[]): number[] => all.map(({ cost }) => cost)
    return [...rounds].map(([{ what, to }, done]) => ({
      what,
      on: backend.name,
      'cpu µs per token': median(costs(done)),
      'tokens per s': median(done.map(({ tokensPerSecond }) => tokensPerSecond)),
      'deliveries per s': to
        ? median(done.map(({ deliveriesPerSecond }) => deliveriesPerSecond))
        : undefined,
      'cpu × no webhook': to ? medianRatio(costs(withOne), costs(without)) : undefined,
    }))
  } finally {
    await quiet.remove()
    await loud.remove()
  }
}

export const measureWebhooks: Measurement = async ({ backends }) => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-bench-'))
  const receiver = await openReceiver()
  const trust = join(folder, 'ca.pem')
  writeFileSync(trust, receiver.certificate)
  try {
    const rows: Row[] = []
    for (const backend of backends) rows.push(...(await measureOn(backend, receiver, trust)))
    return {
      title: 'tokens and webhooks: what a subscription costs, and how fast events arrive',
      notes: [
        `${ROUNDS} interleaved rounds of ${TOKENS} tokens over ${CONNECTIONS} connections; a round ends when the last event has arrived`,
        'cpu: user and system time of the server, all threads: of the token, its event, the delivery (TLS, two signatures) and its record; not of PostgreSQL',
        'the receiver runs in the process of the generator',
      ],
      rows,
    }
  } finally {
    await receiver.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
