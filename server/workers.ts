/** Several worker processes on one port (node:cluster). The first process prepares the database and watches them. */

import cluster, { type Worker } from 'node:cluster'
import type { Config } from '#server/config/index.ts'
import { systemClock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import { type Bootstrapped, bootstrap } from './bootstrap.ts'
import { createParts } from './parts.ts'

/** A worker that dies right after its start would otherwise be forked in a busy loop. */
const restartDelayMs = 1000

const ready = (worker: Worker): Promise<void> =>
  new Promise((resolve, reject) => {
    worker.once('message', () => resolve())
    worker.once('exit', (code) =>
      reject(new Error(`a worker ended with ${code} before it was ready`)),
    )
  })

const ended = (worker: Worker): Promise<void> =>
  new Promise((resolve) => {
    if (worker.isDead()) resolve()
    else worker.once('exit', () => resolve())
  })

export const superviseWorkers = async (
  config: Config,
  logger: Logger,
): Promise<{ admin: Bootstrapped | null; stop: () => Promise<void> }> => {
  const parts = await createParts(config, logger, systemClock)
  const admin = await bootstrap(parts.realms, config.bootstrap).finally(() => parts.close())

  let stopping = false
  cluster.on('exit', (worker, code, signal) => {
    if (stopping) return
    logger.error({ pid: worker.process.pid, code, signal }, 'a worker ended; starting another')
    setTimeout(() => {
      if (!stopping) cluster.fork()
    }, restartDelayMs)
  })
  const first = Array.from({ length: config.runtime.workers }, () => cluster.fork())
  const stop = async (): Promise<void> => {
    stopping = true
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    for (const worker of workers) worker.process.kill('SIGTERM')
    await Promise.all(workers.map(ended))
  }
  try {
    await Promise.all(first.map(ready))
  } catch (error) {
    await stop()
    throw error
  }
  return { admin, stop }
}
