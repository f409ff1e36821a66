/** Opens the metrics of this process, which answers with them when another worker is asked for the figures of all. */

import { jobFigures } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { PlatformArea } from '#server/platform/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { createMetrics, type Metrics, shareFigures } from './metrics.ts'

export interface MetricNeeds {
  readonly storage: Storage
  readonly copy: Pick<Copy, 'known'>
  readonly clock: Clock
  readonly platform: Pick<PlatformArea, 'hasher' | 'siblings'>
}

export const openMetrics = ({ storage, copy, clock, platform }: MetricNeeds): Metrics => {
  const metrics = createMetrics({
    isRealm: async (name) => (await copy.known(name)) !== undefined,
    queues: { 'password-hashing': platform.hasher.waiting },
    jobs: jobFigures(storage),
    clock,
  })
  shareFigures(platform.siblings, metrics)
  return metrics
}
