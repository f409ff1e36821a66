/**
 * Seals and counts events, removes what has expired (events, sessions, sign-ins and what they wait for, counters of failed
 * ones, answers kept for those who ask again), replaces signing keys that are due and makes the next ones. One node does a
 * round, but several may at once.
 */

import type { JobHandler } from '#server/jobs/job.ts'
import { recurring } from '#server/jobs/recurring.ts'
import { forgetRequests } from '#server/oidc/expired-requests.ts'
import { forgetDevices } from '#server/sign-in/known-devices.ts'
import type { Parts } from './parts.ts'

const intervalMs = 5 * 60_000
/** Of next keys, per round: making one costs more than all the rest, and nobody is in a hurry. */
const mostKeys = 20

/** One round over all realms. */
export const tidy = async (parts: Parts): Promise<void> => {
  let keysLeft = mostKeys
  await parts.sealEvents()
  for (const { name } of await parts.realms.list()) {
    const settings = await parts.settingsOf(name)
    if (!settings) continue
    await parts.totals.advance(name)
    if (settings.eventsExpiration > 0)
      await parts.forgetEvents(name, parts.clock.now() - settings.eventsExpiration * 1000)
    await parts.storage.append([
      ...parts.sessions.forgetStatements(name, settings),
      ...parts.bruteForce.forgetStatements(name, settings),
    ])
    const view = await parts.copy.fresh(name)
    if (view) await parts.keyPolicies.follow(view)
    keysLeft -= await parts.keyPolicies.prepare(name, keysLeft)
  }
  await parts.storage.append([
    ...parts.grantsStore.forgetStatements(),
    ...forgetRequests(parts.storage, parts.clock.now()),
    ...parts.signIns.forgetStatements(),
    ...parts.devices.forgetStatements(),
    ...parts.approvals.forgetStatements(),
    ...parts.invitations.forgetStatements(),
    ...parts.addressUndos.forgetStatements(),
    ...parts.transactions.forgetStatements(),
    parts.messageLimits.forgetStatement(),
    parts.changesets.forgetStatement(),
    forgetDevices(parts.storage, parts.clock.now()),
  ])
}

/** The jobs that keep the house. */
export const housekeeping = (parts: Parts): readonly JobHandler[] => [
  recurring({
    queue: 'housekeeping',
    everyMs: intervalMs,
    logger: parts.logger,
    work: () => tidy(parts),
  }),
]
