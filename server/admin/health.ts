/**
 * The health of the server: a status for each of its parts (names as Spring's actuator has
 * them). Liveness says that the process answers at all, readiness that it should get traffic; the overall status
 * is the worst of everything. With workers each part is as bad as in the worker where it is worst.
 */

import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Forwarder } from '#server/audit/forwarder.ts'
import type { Config } from '#server/config/index.ts'
import { createCertificateCheck } from '#server/keys/certificate-check.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Siblings } from '#server/platform/threads/siblings.ts'
import type { Storage } from '#server/storage/contract.ts'

/** From bad to good. */
export const statuses = ['DOWN', 'OUT_OF_SERVICE', 'UP'] as const
export type Status = (typeof statuses)[number]

type Components = Readonly<Record<string, Status>>

export interface HealthParts {
  readonly storage: Pick<Storage, 'db' | 'ping'>
  readonly config: Pick<Config, 'runtime'>
  readonly clock: Clock
  readonly siblings: Siblings
  readonly forwarder: Pick<Forwarder, 'works'>
}

export interface Health {
  /** Of all processes of the server. */
  components(): Promise<Components>
  /** From now on this process can serve: the realm of the first administrator exists. */
  started(): void
  /** From now on this process asks for no more traffic. */
  stopping(): void
}

/** Less free space than this and the next write may fail; the actuator's limit. */
const leastFreeBytes = 10 * 1024 * 1024

/** A database that has not answered by then is of no use to a request either. */
const pingPatienceMs = 1500

const question = 'health'

export const worst = (found: Iterable<Status>): Status => {
  const all = new Set(found)
  return statuses.find((status) => all.has(status)) ?? 'UP'
}

const upIf = (good: boolean): Status => (good ? 'UP' : 'DOWN')

const answersInTime = async (ping: () => Promise<boolean>): Promise<boolean> => {
  const patience = new AbortController()
  const late = sleep(pingPatienceMs, false, { signal: patience.signal }).catch(() => false)
  try {
    return await Promise.race([ping().catch(() => false), late])
  } finally {
    patience.abort()
  }
}

/** The folder of the data need not exist, where the database is elsewhere. */
const existing = (folder: string): string =>
  existsSync(folder) || dirname(folder) === folder ? folder : existing(dirname(folder))

const hasSpace = async (folder: string): Promise<boolean> => {
  const { bavail, bsize } = await statfs(existing(folder))
  return bavail * bsize >= leastFreeBytes
}

export const createHealth = ({
  storage,
  config,
  clock,
  siblings,
  forwarder,
}: HealthParts): Health => {
  const certificatesAreValid = createCertificateCheck(storage, clock)
  let serves = false
  let underWay: Promise<Components> | undefined

  const readiness = (db: Status): Status => {
    if (db !== 'UP') return db
    return serves ? 'UP' : 'OUT_OF_SERVICE'
  }

  const check = async (): Promise<Components> => {
    const db = upIf(await answersInTime(() => storage.ping()))
    const space = await hasSpace(config.runtime.data).catch(() => false)
    // Without a database nothing is known of certificates; `db` tells that already.
    const certificates = db === 'UP' ? await certificatesAreValid().catch(() => false) : true
    const forwards = db === 'UP' ? await forwarder.works().catch(() => false) : null
    return {
      ...(forwards === null ? {} : { auditForwarder: upIf(forwards) }),
      db,
      diskSpace: upIf(space),
      livenessState: 'UP',
      ping: 'UP',
      readinessState: readiness(db),
      ssl: upIf(certificates),
    }
  }

  /** Requests during a check share its result: probes cannot pile up. */
  const checkOnce = (): Promise<Components> => {
    underWay ??= check().finally(() => {
      underWay = undefined
    })
    return underWay
  }
  siblings.answer(question, checkOnce)

  return {
    components: async () => {
      const { answers, silent } = await siblings.ask(question)
      const told = answers as readonly Components[]
      // A process that does not answer is not alive, whatever the others say.
      const all = silent.length > 0 ? [...told, { livenessState: 'DOWN' } as const] : told
      const combined: Record<string, Status> = {}
      for (const components of all)
        for (const [name, status] of Object.entries(components))
          combined[name] = worst([status, combined[name] ?? 'UP'])
      return combined
    },
    started: () => {
      serves = true
    },
    stopping: () => {
      serves = false
    },
  }
}
