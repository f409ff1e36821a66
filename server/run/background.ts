/** Everything the server does by itself: THE list of job handlers, started and stopped with the server. */

import type { EventCategory, EventType } from '#schemas/wire/event-types.ts'
import { startSealing } from '#server/audit/sealing.ts'
import type { JobHandler } from '#server/jobs/job.ts'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import { logoutHandler } from '#server/sessions/logout-queue.ts'
import { housekeeping } from './housekeeping.ts'
import type { Areas } from './open.ts'

/** Logouts of both protocols, and those that identity providers take from servers. */
export const logoutJobs = ({ tokens, oidc, saml, broker, signals }: Areas): JobHandler =>
  logoutHandler({
    issuers: tokens.issuers,
    // Signals first: they are sent beside what a protocol tells its client.
    protocols: [signals.tellLogout, oidc.tellLogout, saml.tellLogout, broker.tellLogout],
  }) as JobHandler

const jobHandlers = (areas: Areas): readonly JobHandler[] => [
  ...housekeeping(areas),
  areas.audit.forwarder.handler,
  areas.users.post.handler as JobHandler,
  logoutJobs(areas),
  areas.oidc.pings as JobHandler,
  areas.webhooks.handler as JobHandler,
  areas.signals.pushes as JobHandler,
  areas.scimOut.handler,
]

/** Neither the notice of a new device, which belongs to a sign-in, nor what is created: a directory is created by thousands. */
const endsNoSession: readonly EventType[] = ['NEW_DEVICE', 'ADMIN_CREATE']

const mayEndSessions = (category: EventCategory, type: EventType): boolean =>
  type === 'LOGOUT' || (category !== 'AUTHN' && !endsNoSession.includes(type))

export const startBackground = async (areas: Areas): Promise<RunningJobs> => {
  const { given, jobs, audit, webhooks, scimOut, signals } = areas
  const { sealEvents, outbox, forwarder } = audit
  await jobs.takeOver()
  const fanOut = webhooks.start()
  const feed = scimOut.start()
  const signalling = signals.start()
  const endSealing = startSealing({ sealEvents, outbox, logger: given.logger })
  const endForwarding = forwarder.start()
  const running = await jobs.start(jobHandlers(areas))
  // Many writes end sessions beside what they are about: all of them are events.
  const unlisten = outbox.listen(({ category, type }) => {
    if (mayEndSessions(category, type)) jobs.wake(logoutQueue)
  })
  return {
    idle: async () => {
      await fanOut.idle()
      await feed.idle()
      await signalling.idle()
      await running.idle()
    },
    stop: async () => {
      unlisten()
      await Promise.allSettled([
        fanOut.stop(),
        feed.stop(),
        signalling.stop(),
        endForwarding(),
        endSealing(),
        running.stop(),
      ])
    },
  }
}
