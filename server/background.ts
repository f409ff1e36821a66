/** Everything the server does by itself: THE list of job handlers, started and stopped with the server. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { JobHandler } from '#server/events/jobs/job.ts'
import type { RunningJobs } from '#server/events/jobs/queue.ts'
import { webhookDeliveries } from '#server/events/webhooks/deliveries.ts'
import { startFanOut } from '#server/events/webhooks/fan-out.ts'
import { createDisableWebhook } from '#server/resources/disable-webhook.ts'
import { housekeeping } from './housekeeping.ts'
import type { Parts } from './parts.ts'

export const jobHandlers = (parts: Parts): readonly JobHandler[] => [
  ...housekeeping(parts),
  parts.forwarder.handler,
  parts.post.handler as JobHandler,
  webhookDeliveries({
    ...parts,
    send: parts.sendDelivery,
    disable: createDisableWebhook(parts.writer),
  }),
]

/** How soon clients are told of sessions that another node, or nobody in particular, has ended. */
const tellMs = 2_000

export const startBackground = async (parts: Parts): Promise<RunningJobs> => {
  await parts.outbox.adopt()
  await parts.jobs.takeOver()
  const fanOut = startFanOut(parts)
  const endForwarding = parts.forwarder.start()
  const jobs = await parts.jobs.start(jobHandlers(parts))
  const ending = new AbortController()
  const telling = (async () => {
    for (;;) {
      await sleep(tellMs, undefined, { signal: ending.signal, ref: false })
      parts.logouts.kick()
      await parts.logouts.idle()
    }
  })()
  return {
    idle: async () => {
      await fanOut.idle()
      await jobs.idle()
    },
    stop: async () => {
      ending.abort()
      await Promise.allSettled([telling, fanOut.stop(), endForwarding(), jobs.stop()])
    },
  }
}
