/**
 * Several worker processes on one port (node:cluster). Each is a whole server; the first process only watches them
 * and reports for them: the reason of a failed start, and the first administrator, are printed once.
 */

import cluster, { type Worker } from 'node:cluster'
import { keptFigures } from '#server/metrics/metrics.ts'
import type { Logger } from '#server/platform/logger.ts'
import { relayQuestions } from '#server/platform/threads/siblings.ts'
import type { Bootstrapped } from './bootstrap.ts'

/** The report of a worker about its start. */
type Report =
  | { readonly ready: { readonly admin: Bootstrapped | null } }
  | { readonly failed: { readonly name: string; readonly message: string; readonly stack: string } }

interface Running {
  readonly admin: Bootstrapped | null
  readonly stop: () => Promise<void>
}

/** A worker ended before it reported a reason; the message is written for an operator. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError'
}

/** A worker that dies right after its start would otherwise be forked in a busy loop. */
const restartDelayMs = 1000

const tell = (report: Report): Promise<void> =>
  new Promise((resolve) => {
    // A failed send is ignored: a supervisor that has ended needs no report.
    if (process.send) process.send(report, () => resolve())
    else resolve()
  })

const failureOf = (error: unknown): Report => {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
  return { failed: { name, message, stack: stack ?? message } }
}

/** Starts this worker's server and reports how that went; the supervisor prints it. */
export const startAsWorker = async <T extends Running>(start: () => Promise<T>): Promise<T> => {
  try {
    const running = await start()
    await tell({ ready: { admin: running.admin } })
    return running
  } catch (error) {
    await tell(failureOf(error))
    process.exit(1)
  }
}

const firstReport = (worker: Worker): Promise<Bootstrapped | null> =>
  new Promise((resolve, reject) => {
    // Other messages may come first: a worker listens before it is ready.
    worker.on('message', (report: Partial<Report>) => {
      if ('ready' in report) resolve(report.ready.admin)
      if ('failed' in report) reject(Object.assign(new Error(report.failed.message), report.failed))
    })
    worker.once('exit', (code, signal) =>
      reject(new WorkerError(`a worker ended (${signal ?? code}) before it was ready`)),
    )
  })

const ended = (worker: Worker): Promise<void> =>
  new Promise((resolve) => {
    if (worker.isDead()) resolve()
    else worker.once('exit', () => resolve())
  })

const living = (): Worker[] =>
  Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)

const signalAll = (signal: NodeJS.Signals): void => {
  for (const worker of living()) worker.process.kill(signal)
}

export const superviseWorkers = async (
  count: number,
  logger: Logger,
  asked: AbortSignal,
): Promise<Running & { readonly abandon: () => void }> => {
  let stopping = false
  const stop = async (): Promise<void> => {
    stopping = true
    const workers = living()
    signalAll('SIGTERM')
    await Promise.all(workers.map(ended))
  }
  const replace = (): void => {
    if (stopping) return
    firstReport(cluster.fork()).catch((error) => logger.error({ err: error }, 'a worker failed'))
  }

  relayQuestions(keptFigures)
  // A worker may still be waiting for the database.
  asked.addEventListener('abort', () => signalAll('SIGTERM'), { once: true })
  const first = Array.from({ length: count }, () => cluster.fork())
  try {
    const admins = await Promise.all(first.map(firstReport))
    cluster.on('exit', (worker, code, signal) => {
      if (stopping) return
      logger.error({ pid: worker.process.pid, code, signal }, 'a worker ended; starting another')
      setTimeout(replace, restartDelayMs)
    })
    return {
      // At most one of them found the database empty.
      admin: admins.find((admin) => admin !== null) ?? null,
      stop,
      abandon: () => signalAll('SIGKILL'),
    }
  } catch (error) {
    await stop()
    throw error
  }
}
