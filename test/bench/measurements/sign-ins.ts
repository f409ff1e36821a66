/** Sign-ins through the page, against how fast the engine alone can hash. */

import { availableParallelism } from 'node:os'
import { newUserRow } from '#server/accounts/user-record.ts'
import type { Parts } from '#server/parts.ts'
import { newId } from '#server/platform/ids.ts'
import { loadEngine, type PasswordEngine } from '#server/platform/passwords/engine.ts'
import type { Database, Server } from '../backends.ts'
import { connect, type Load, type LoadOptions, type Request, runLoad, sendLoad } from '../load.ts'
import type { Measurement } from '../measurement.ts'
import { cpuOfAll, cpuOfThreads } from '../processes.ts'
import { repeatLoad } from '../repeating.ts'
import { type Credentials, openForm, openFormAgain } from '../sign-in.ts'
import { mean, meanRatio, quantile } from '../statistics.ts'

const ROUNDS = 18
/** What has no aim is measured in one round of so many. */
const SELDOM = 6
const ROUND = { ms: 6_000, settleMs: 1_000 }
/** Until hardly any code of a sign-in is compiled any more. */
const WARM_UP = { ms: 90_000 }
const SHORT_WARM_UP = { ms: 30_000 }
/** Enough that the hasher always has work waiting, as in a storm. */
const CONNECTIONS = 96
const password = 'a quiet sentence about lamps 17'

const people: readonly Credentials[] = Array.from({ length: CONNECTIONS }, (_, n) => ({
  realm: 'master',
  username: `person-${n}`,
  password,
}))

const fill = async (parts: Parts, hash: string): Promise<void> => {
  const settings = await parts.settingsOf('master')
  if (settings === null) throw new Error('there is no master realm')
  const statements = people.flatMap(({ username }) => {
    const identity = { id: newId(), realm: 'master', now: parts.clock.now() }
    const row = newUserRow({ username }, identity)
    const { statements } = parts.passwords.acceptHash(settings, row, hash)
    return [...parts.users.createStatements(row), ...statements]
  })
  await parts.storage.commit(statements)
}

interface Way {
  readonly what: string
  readonly on: string
  readonly run: (options: LoadOptions) => Promise<Load>
  /** It takes part in one round of so many. */
  readonly every: number
  readonly loads: Load[]
  /** Of the engine alone, just before and just after each load: the machine changes its speed within a minute. */
  readonly around: Load[]
  /** Whose threads hash. */
  readonly pid: number
  /** Processor time of hashing, and of everything on this machine, in ms: a share that its changes of speed leave alone. */
  readonly spent: { hashing: number; all: number }
}

type Kind = Pick<Way, 'what' | 'on' | 'pid' | 'run'> & Partial<Pick<Way, 'every'>>

const wayOf = (kind: Kind): Way => ({
  every: SELDOM,
  ...kind,
  loads: [],
  around: [],
  spent: { hashing: 0, all: 0 },
})

const rates = (loads: readonly Load[]): number[] => loads.map(({ perSecond }) => perSecond)

const rawWay = (engine: PasswordEngine, hash: string): Way => {
  const most = availableParallelism() * (engine.perCore ?? 1)
  return wayOf({
    what: `${engine.name} verify, ${most} at once`,
    on: 'engine alone',
    pid: process.pid,
    run: (options) => runLoad(most, options, () => engine.verify(hash, password)),
  })
}

const bareWay = ({ url, pid }: Server): Way => {
  const form: Request = {
    method: 'POST',
    path: '/',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ username: 'person-0', password }).toString(),
  }
  return wayOf({
    what: `check and redirect, ${CONNECTIONS} connections`,
    on: 'bare node:http',
    pid,
    run: (options) => repeatLoad(url, Array<Request>(CONNECTIONS).fill(form), 303, options),
  })
}

const waysOn = async ({ url, pid }: Server, on: string): Promise<Way[]> => {
  const connection = connect(url)
  const forms: Request[] = []
  for (const person of people) forms.push(await openFormAgain(connection, person))
  await connection.close()
  const [person] = people
  if (person === undefined) throw new Error('nobody signs in')
  return [
    wayOf({
      what: `POST /login, ${CONNECTIONS} browsers that were there before`,
      on,
      pid,
      run: (options) => repeatLoad(url, forms, 303, options),
      every: 1,
    }),
    wayOf({
      what: `GET and POST /login, ${CONNECTIONS} at once, always new browsers`,
      on,
      pid,
      run: (options) =>
        sendLoad(url, CONNECTIONS, options, async (one, n) =>
          one.send(await openForm(one, people[n % CONNECTIONS] ?? person), 303),
        ),
    }),
  ]
}

export const measureSignIns: Measurement = async ({ backends, serveScript }) => {
  const engine = await loadEngine()
  const hash = await engine.hash(password)
  const databases: Database[] = []
  const raw = rawWay(engine, hash)
  const bare = await serveScript('bare-verifier')
  const ways = [raw, bareWay(bare)]
  try {
    for (const { name, create } of backends) {
      const database = await create()
      databases.push(database)
      await database.withParts((parts) => fill(parts, hash))
      ways.push(...(await waysOn(await database.serve(), name)))
    }
    for (const way of ways) await way.run(way.every === 1 ? WARM_UP : SHORT_WARM_UP)
    let engineAlone = await raw.run(ROUND)
    for (let round = 0; round < ROUNDS; round += 1)
      for (const way of ways.filter(({ every }) => round % every === 0)) {
        way.around.push(engineAlone)
        const [hashed, used] = [cpuOfThreads(way.pid, 'argon2'), cpuOfAll()]
        way.loads.push(await way.run(ROUND))
        way.spent.hashing += cpuOfThreads(way.pid, 'argon2') - hashed
        way.spent.all += cpuOfAll() - used
        engineAlone = await raw.run(ROUND)
        way.around.push(engineAlone)
      }
    return {
      title: 'sign-ins with a password',
      notes: [
        `${ROUNDS} interleaved rounds of ${ROUND.ms} ms for what has an aim, ${ROUNDS / SELDOM} for the rest, without the first ${ROUND.settleMs} ms and what ends after the last; ${CONNECTIONS} users, one address`,
        'ratios are of all rounds to those of the engine, one just before and one just after each',
        'hashing is the part of the time of all processors, the generator and PostgreSQL included, in which passwords are hashed',
        'a sign-in reserves, hashes, and commits session, counters and audit event; the aim is 90 % of the engine',
      ],
      rows: ways.map((way) => {
        const times = way.loads.flatMap((load) => load.times)
        return {
          what: way.what,
          on: way.on,
          'per s': mean(rates(way.loads)),
          'p50 ms': quantile(times, 0.5),
          'p99 ms': quantile(times, 0.99),
          'of the engine': meanRatio(rates(way.loads), rates(way.around)),
          'hashing, of all cpu': way.spent.hashing / way.spent.all,
        }
      }),
    }
  } finally {
    await bare.stop()
    for (const database of databases) await database.remove()
  }
}
