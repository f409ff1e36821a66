/** Everything the server does by itself: THE list of job handlers, started and stopped with the server. */

import type { EventCategory, EventType } from '#schemas/wire/event-types.ts'
import { startSealing } from '#server/audit/sealing.ts'
import type { JobHandler } from '#server/jobs/job.ts'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import { housekeeping } from './housekeeping.ts'
import type { Parts } from './parts.ts'

export const jobHandlers = (parts: Parts): readonly JobHandler[] => [
  ...housekeeping(parts),
  parts.forwarder.handler,
  parts.post.handler as JobHandler,
  parts.logouts,
  parts.oidc.pings as JobHandler,
  parts.webhooks.handler as JobHandler,
]

/** A new device is told of with a sign-in, which ends nothing. */
const mayEndSessions = (category: EventCategory, type: EventType): boolean =>
  type === 'LOGOUT' || (category !== 'AUTHN' && type !== 'NEW_DEVICE')

export const startBackground = async (parts: Parts): Promise<RunningJobs> => {
  await parts.jobs.takeOver()
  const fanOut = parts.webhooks.start()
  const endSealing = startSealing(parts)
  const endForwarding = parts.forwarder.start()
  const jobs = await parts.jobs.start(jobHandlers(parts))
  // Many writes end sessions beside what they are about: all of them are events.
  const unlisten = parts.outbox.listen(({ category, type }) => {
    if (mayEndSessions(category, type)) parts.jobs.wake(logoutQueue)
  })
  return {
    idle: async () => {
      await fanOut.idle()
      await jobs.idle()
    },
    stop: async () => {
      unlisten()
      await Promise.allSettled([fanOut.stop(), endForwarding(), endSealing(), jobs.stop()])
    },
  }
}
