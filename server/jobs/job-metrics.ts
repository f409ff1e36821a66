/** Metrics of jobs. Every process reads the same table, so that one value counts, not the sum over processes. */

import { Counter, Gauge, type Registry } from 'prom-client'
import type { Clock } from '#server/platform/clock.ts'
import type { Attempted } from './job.ts'
import type { QueueFigures } from './store.ts'

/** Returns the function that counts an attempt. */
export const registerJobMetrics = (
  registry: Registry,
  read: () => Promise<readonly QueueFigures[]>,
  clock: Clock,
): ((queue: string, outcome: Attempted) => void) => {
  const registers = [registry]
  const attempts = new Counter({
    name: 'svc_job_attempts_total',
    help: 'Attempts at background work, by what came of them.',
    labelNames: ['queue', 'outcome'],
    registers,
  })
  const gauge = (name: string, help: string, figureOf: (figures: QueueFigures) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ['queue'],
      aggregator: 'max',
      registers,
      async collect() {
        // Without a response of the database the metrics are omitted.
        const all = await read().catch(() => [])
        this.reset()
        for (const figures of all) this.set({ queue: figures.queue }, figureOf(figures))
      },
    })
  }
  gauge('svc_jobs_waiting', 'Jobs that wait or run.', ({ waiting }) => waiting)
  gauge('svc_jobs_oldest_age_seconds', 'Age of the oldest job that waits or runs.', ({ oldest }) =>
    Math.max(0, (clock.now() - oldest) / 1000),
  )
  return (queue, outcome) => attempts.inc({ queue, outcome })
}
