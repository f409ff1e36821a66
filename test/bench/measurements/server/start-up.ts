/** From the start of the process to its first sign-in page, its CPU, and the memory it then has, with 1 and 1,000 realms. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Areas } from '#server/run/open.ts'
import { type Database, type Server, system } from '../../backends.ts'
import { realmCopier } from '../../copy-realm.ts'
import { connect, sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { cpuOf, rssOf } from '../../processes.ts'
import { median, timed } from '../../statistics.ts'

const ROUNDS = 5
const REALMS = 1_000
const BATCH = 50
/** What an idle process gives back, it has given back by then. */
const SETTLE_MS = 1_000

interface Case {
  readonly on: string
  readonly realms: number
  readonly database: Database
  readonly readyMs: number[]
  readonly cpuMs: number[]
  readonly idleMb: number[]
  /** After one sign-in page of every realm, or as many of the only one. */
  readonly visitedMb: number[]
}

const realmName = (n: number): string => (n === 0 ? 'master' : `realm-${n}`)

const fill = async (areas: Areas, realms: number): Promise<void> => {
  if (realms < 2) return
  await areas.realm.realms.create({ realm: realmName(1) }, system)
  const copyTo = await realmCopier(areas, realmName(1))
  for (let start = 2; start < realms; start += BATCH) {
    const names = Array.from({ length: Math.min(BATCH, realms - start) }, (_, i) =>
      realmName(start + i),
    )
    await areas.storage.commit(names.flatMap(copyTo))
  }
}

const firstPageMs = async ({ url, readyAfterMs }: Server): Promise<number> => {
  const connection = connect(url)
  const { ms } = await timed(() =>
    connection.send({ method: 'GET', path: '/realms/master/login' }, 200),
  )
  await connection.close()
  return readyAfterMs + ms
}

const visitAll = async ({ url, pid }: Server, realms: number): Promise<number> => {
  await sendLoad(url, 4, { ms: 30_000, most: REALMS }, (connection, n) =>
    connection.send({ method: 'GET', path: `/realms/${realmName(n % realms)}/login` }, 200),
  )
  await sleep(SETTLE_MS)
  return rssOf(pid)
}

const startOnce = async (one: Case, last: boolean): Promise<void> => {
  const server = await one.database.serve()
  one.cpuMs.push(cpuOf(server.pid))
  try {
    one.readyMs.push(await firstPageMs(server))
    await sleep(SETTLE_MS)
    one.idleMb.push(rssOf(server.pid))
    if (last) one.visitedMb.push(await visitAll(server, one.realms))
  } finally {
    await server.stop()
  }
}

const rowsOf = (cases: readonly Case[]): Row[] =>
  cases.map(({ on, realms, readyMs, cpuMs, idleMb, visitedMb }) => {
    const alone = cases.find((other) => other.on === on && other.realms === 1)
    const more = (mine: readonly number[], theirs: readonly number[] = []) =>
      realms === 1 ? undefined : median(mine) - median(theirs)
    return {
      what: `${realms.toLocaleString('en')} realm${realms === 1 ? '' : 's'}`,
      on,
      'CPU ms': median(cpuMs),
      'first page ms': median(readyMs),
      '+ ms': more(readyMs, alone?.readyMs),
      'idle RSS MB': median(idleMb),
      '+ MB': more(idleMb, alone?.idleMb),
      'RSS after 1,000 pages': median(visitedMb),
      '+ MB then': more(visitedMb, alone?.visitedMb),
    }
  })

export const measureStartUp: Measurement = async ({ backends, progress }) => {
  const cases: Case[] = []
  try {
    for (const { name: on, create } of backends)
      for (const realms of [1, REALMS]) {
        const database = await create()
        cases.push({ on, realms, database, readyMs: [], cpuMs: [], idleMb: [], visitedMb: [] })
        await database.withParts((areas) => fill(areas, realms))
      }
    progress('databases are filled')
    for (let round = 1; round <= ROUNDS; round += 1)
      for (const one of cases) await startOnce(one, round === ROUNDS)
    return {
      title: 'start-up and memory',
      notes: [
        `medians of ${ROUNDS} interleaved starts of the bundle, process start to the first 200 of /realms/master/login`,
        'CPU: of all threads until the server says that it is ready',
        `RSS ${SETTLE_MS} ms later; limits: idle under 120 MB, ${REALMS.toLocaleString('en')} realms under 50 MB and 1 s more`,
        'the realms are copies of one realm’s rows under new ids, so the signing keys are not their own',
        'pages: one sign-in page of each realm (of the one realm 1,000 times), which loads their settings',
      ],
      rows: rowsOf(cases),
    }
  } finally {
    for (const { database } of cases) await database.remove()
  }
}
