/**
 * Memory under continuous traffic: usage per minute, and growth after warm-up. `BENCH_MINUTES` sets the length; the
 * default is ten.
 */

import type { Backend, Server } from '../../backends.ts'
import { connect, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { rssOf } from '../../processes.ts'
import * as party from '../../relying-party.ts'
import { slope } from '../../statistics.ts'

const MINUTES = Number(process.env['BENCH_MINUTES'] ?? 10)
/** Before it the heap finds its size, code is compiled, and the first round of housekeeping has what it needs. */
const WARM_UP_MINUTES = 6
const SAMPLE_MINUTES = 0.5
const CONNECTIONS = 16

interface Sample {
  readonly minutes: number
  readonly rss: number
  readonly heap: number
}

const heapOf = async (url: string): Promise<number> => {
  const connection = connect(url)
  const { body } = await connection.send({ method: 'GET', path: '/monitoring/metrics' }, 200)
  await connection.close()
  const bytes = /^nodejs_heap_size_used_bytes (\S+)$/m.exec(body.toString())?.[1]
  return Number(bytes) / 1e6
}

const sampleOf = async ({ pid, url }: Server, since: number): Promise<Sample> => ({
  minutes: (performance.now() - since) / 60_000,
  rss: rssOf(pid),
  heap: await heapOf(url),
})

/** Everything that a request may leave behind: tokens of services, grants of users, refreshes, reads. */
const traffic = async ({ url }: Server, ms: number): Promise<number> => {
  const visitor = await party.openVisit(url)
  const idle = await visitor.tokens(CONNECTIONS)
  const load = await sendLoad(url, CONNECTIONS, { ms }, async (connection) => {
    const tokens = idle.pop()
    if (tokens === undefined) throw new Error('there are no tokens left')
    await connection.send(party.clientCredentials(), 200)
    const refreshed = await connection.send(party.refresh(tokens.refresh_token), 200)
    const next = JSON.parse(refreshed.body.toString()) as party.Tokens
    await connection.send(party.introspect(next.access_token), 200)
    await connection.send(party.userinfo(next.access_token), 200)
    await connection.send(party.jwks, 200)
    idle.push(next)
  })
  return 5 * load.times.length
}

const rowsOf = (on: string, samples: readonly Sample[], requests: number): Row[] => {
  const warm = samples.filter(({ minutes }) => minutes >= WARM_UP_MINUTES)
  const perMinute = (of: (sample: Sample) => number): number =>
    slope(warm.map((sample) => [sample.minutes, of(sample)]))
  return [
    ...samples.map(({ minutes, rss, heap }) => ({
      on,
      minute: minutes.toFixed(1),
      'RSS MB': rss,
      'heap MB': heap,
    })),
    {
      on,
      minute: 'growth a minute, warm',
      'RSS MB': perMinute(({ rss }) => rss),
      'heap MB': perMinute(({ heap }) => heap),
      requests,
    },
  ]
}

const measureOn = async (
  { name, create }: Backend,
  progress: (text: string) => void,
): Promise<Row[]> => {
  const database = await create()
  try {
    await database.withParts(party.fillIssuer)
    const server = await database.serve()
    const since = performance.now()
    const samples = [await sampleOf(server, since)]
    let requests = 0
    while ((samples.at(-1)?.minutes ?? 0) < WARM_UP_MINUTES + MINUTES) {
      requests += await traffic(server, SAMPLE_MINUTES * 60_000)
      const sample = await sampleOf(server, since)
      samples.push(sample)
      progress(`${name} ${sample.minutes.toFixed(1)} min, RSS ${sample.rss.toFixed(0)} MB`)
    }
    return rowsOf(name, samples, requests)
  } finally {
    await database.remove()
  }
}

export const measureMemory: Measurement = async ({ backends, progress }) => {
  const rows = await Promise.all(backends.map((backend) => measureOn(backend, progress)))
  return {
    title: `memory over ${MINUTES} minutes of traffic, after ${WARM_UP_MINUTES} of warming up`,
    notes: [
      `both at the same time, ${CONNECTIONS} connections each, with client_credentials, refresh, introspection, userinfo and JWKS in turn`,
      `growth is the slope of a straight line through what came after the first ${WARM_UP_MINUTES} minutes`,
    ],
    rows: rows.flat(),
  }
}
