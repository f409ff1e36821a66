/**
 * Seals and counts events, removes what has expired (events, sessions, sign-ins and what they wait for, counters of failed
 * ones, answers kept for those who ask again), replaces signing keys that are due and makes the next ones. One node does a
 * round, but several may at once.
 */

import { SamlClient } from '#schemas/kinds/clients/saml-client.ts'
import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import type { JobHandler } from '#server/jobs/job.ts'
import { recurring } from '#server/jobs/recurring.ts'
import { forgetRequests } from '#server/oidc/expired-requests.ts'
import { forgetDevices } from '#server/sign-in/known-devices.ts'
import { forgetWaitingRequests } from '#server/sign-in/waiting/waiting-requests.ts'
import { realmsWith } from '#server/storage/documents/reads.ts'
import type { Areas } from './open.ts'

const intervalMs = 5 * 60_000
/** The shortest schedule is five minutes. */
const scheduleMs = 60_000
/** Most next keys per round: generating one costs more than all other work, and is not urgent. */
const mostKeys = 20

/** One round over all realms. */
export const tidy = async (areas: Areas): Promise<void> => {
  const { given, storage, copy, audit, keys, users, credentials, sessions, tokens, realm } = areas
  const { clock } = given
  let keysLeft = mostKeys
  await audit.sealEvents()
  for (const { name } of await realm.realms.list()) {
    const settings = await realm.settingsOf(name)
    if (!settings) continue
    await audit.totals.advance(name)
    if (settings.eventsExpiration > 0)
      await audit.forgetEvents(name, clock.now() - settings.eventsExpiration * 1000)
    await storage.append([
      ...sessions.forgetStatements(name, settings),
      ...credentials.bruteForce.forgetStatements(name, settings),
    ])
    const view = await copy.fresh(name)
    if (view) await keys.policies.follow(view)
    if (view) await areas.provisioning.endUnusedClients(view)
    keysLeft -= await keys.policies.prepare(name, keysLeft)
  }
  await areas.signals.pauseIdle()
  await storage.append([
    ...tokens.grantsStore.forgetStatements(),
    ...forgetRequests(storage, clock.now()),
    ...forgetWaitingRequests(storage, clock.now()),
    ...areas.saml.forgetStatements(),
    ...areas.broker.forgetStatements(),
    ...areas.signIn.signIns.forgetStatements(),
    ...credentials.devices.forgetStatements(),
    ...credentials.approvals.forgetStatements(),
    ...users.invitations.forgetStatements(),
    ...users.addressUndos.forgetStatements(),
    ...credentials.transactions.forgetStatements(),
    users.messageLimits.forgetStatement(),
    realm.changesets.forgetStatement(),
    forgetDevices(storage, clock.now()),
    areas.authz.tickets.forgetStatement(),
    areas.signals.forgetStatement(),
  ])
}

/** Metadata that is due, of the service and identity providers of all realms. Apart from the rest, since it waits for others. */
export const refreshMetadata = async (
  areas: Pick<Areas, 'given' | 'storage' | 'copy' | 'saml' | 'broker'>,
  signal: AbortSignal,
): Promise<void> => {
  const { given, storage, copy, saml, broker } = areas
  for (const { kind, refresh } of [
    { kind: SamlClient.kind, refresh: saml.refreshMetadata },
    { kind: IdentityProvider.kind, refresh: broker.refreshMetadata },
  ])
    for (const name of await realmsWith(storage.db, kind)) {
      if (signal.aborted) return
      try {
        const view = await copy.fresh(name)
        if (view) await refresh(view, signal)
      } catch (error) {
        // The other realms do not wait for this one to be mended.
        given.logger.warn({ err: error, realm: name, kind }, 'metadata was not read')
      }
    }
}

/** The housekeeping jobs. */
export const housekeeping = (areas: Areas): readonly JobHandler[] => [
  recurring({
    queue: 'housekeeping',
    everyMs: intervalMs,
    logger: areas.given.logger,
    work: () => tidy(areas),
  }),
  recurring({
    queue: 'saml-metadata',
    everyMs: intervalMs,
    logger: areas.given.logger,
    work: (signal) => refreshMetadata(areas, signal),
  }),
  recurring({
    queue: 'directory-syncs',
    everyMs: scheduleMs,
    logger: areas.given.logger,
    work: areas.scheduledSyncs,
  }),
  recurring({
    queue: 'agents',
    everyMs: scheduleMs,
    logger: areas.given.logger,
    work: areas.agents.round,
  }),
]
