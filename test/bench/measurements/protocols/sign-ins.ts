/** Sign-ins through the page, against how fast the engine alone can hash. */

import { availableParallelism } from 'node:os'
import { newId } from '#server/platform/ids.ts'
import { loadEngine, type PasswordEngine } from '#server/platform/passwords/engine.ts'
import type { Areas } from '#server/run/open.ts'
import { newUserRow } from '#server/users/user-record.ts'
import type { Database, Server } from '../../backends.ts'
import {
  connect,
  type Load,
  type LoadOptions,
  type Request,
  runLoad,
  sendLoad,
} from '../../load.ts'
import type { Measurement } from '../../measurement.ts'
import { cpuOfAll, cpuOfThreads } from '../../processes.ts'
import { repeatLoad } from '../../repeating.ts'
import { type Credentials, openForm, openFormAgain } from '../../sign-in.ts'
import { mean, meanRatio, quantile } from '../../statistics.ts'

const ROUNDS = 8
/** What has no aim is measured in one round of so many. */
const SELDOM = 4
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

const fill = async (areas: Areas, hash: string): Promise<void> => {
  const settings = await areas.realm.settingsOf('master')
  if (settings === null) throw new Error('there is no master realm')
  const statements = people.flatMap(({ username }) => {
    const identity = { id: newId(), realm: 'master', now: areas.given.clock.now() }
    const row = newUserRow({ username }, identity)
    const { statements } = areas.credentials.passwords.acceptHash(settings, row, hash)
    return [...areas.users.store.createStatements(row), ...statements]
  })
  await areas.storage.commit(statements)
}

interface Way {
  readonly what: string
  readonly on: string
  readonly run: (options: LoadOptions) => Promise<Load>
  /** It takes part in one round of so many. */
  readonly every: number
  readonly rounds: Round[]
  /** Of the engine alone, just before and just after each round: the machine changes its speed within a minute. */
  readonly around: Round[]
  /** Whose threads hash. */
  readonly pid: number
}

interface Round extends Load {
  /** Processor time of hashing, and of everything on this machine, in ms. */
  readonly hashing: number
  readonly cpu: number
}

type Kind = Pick<Way, 'what' | 'on' | 'pid' | 'run'> & Partial<Pick<Way, 'every'>>

const wayOf = (kind: Kind): Way => ({
  every: SELDOM,
  ...kind,
  rounds: [],
  around: [],
})

const roundOf = async ({ pid, run }: Way): Promise<Round> => {
  const [hashed, used] = [cpuOfThreads(pid, 'argon2'), cpuOfAll()]
  const load = await run(ROUND)
  return { ...load, hashing: cpuOfThreads(pid, 'argon2') - hashed, cpu: cpuOfAll() - used }
}

const rates = (rounds: readonly Round[]): number[] => rounds.map(({ perSecond }) => perSecond)

const sum = (rounds: readonly Round[], of: (round: Round) => number): number =>
  rounds.reduce((total, round) => total + of(round), 0)

/** What the machine takes away, or gives again, is in neither of the two. */
const perCpuSecond = (rounds: readonly Round[]): number =>
  (1000 * sum(rounds, ({ times }) => times.length)) / sum(rounds, ({ cpu }) => cpu)

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
      await database.withParts((areas) => fill(areas, hash))
      ways.push(...(await waysOn(await database.serve(), name)))
    }
    for (const way of ways) await way.run(way.every === 1 ? WARM_UP : SHORT_WARM_UP)
    let engineAlone = await roundOf(raw)
    for (let round = 0; round < ROUNDS; round += 1)
      for (const way of ways.filter(({ every }) => round % every === 0)) {
        way.around.push(engineAlone)
        way.rounds.push(await roundOf(way))
        engineAlone = await roundOf(raw)
        way.around.push(engineAlone)
      }
    return {
      title: 'sign-ins with a password',
      notes: [
        `${ROUNDS} interleaved rounds of ${ROUND.ms} ms for what has an aim, ${ROUNDS / SELDOM} for the rest, without the first ${ROUND.settleMs} ms and what ends after the last; ${CONNECTIONS} users, one address`,
        'ratios are of all rounds to those of the engine, one just before and one just after each',
        'per cpu s: by the time that all processors were at work, for whatever process, instead of by the clock',
        'hashing is the part of the time of all processors, the generator and PostgreSQL included, in which passwords are hashed',
        'a sign-in reserves, hashes, and commits session, counters and audit event; the aim is 90 % of the engine',
      ],
      rows: ways.map(({ what, on, rounds, around }) => {
        const times = rounds.flatMap((round) => round.times)
        return {
          what,
          on,
          'per s': mean(rates(rounds)),
          'p50 ms': quantile(times, 0.5),
          'p99 ms': quantile(times, 0.99),
          'of the engine': meanRatio(rates(rounds), rates(around)),
          'per cpu s': perCpuSecond(rounds),
          'of the engine’s': perCpuSecond(rounds) / perCpuSecond(around),
          'hashing, of all cpu': sum(rounds, (one) => one.hashing) / sum(rounds, (one) => one.cpu),
        }
      }),
    }
  } finally {
    await bare.stop()
    for (const database of databases) await database.remove()
  }
}
