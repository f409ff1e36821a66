/**
 * Counts events, removes what has expired (events, sessions, counters of failed sign-ins, answers kept for those who
 * ask again), replaces signing keys that are due and makes the next ones. Any number of nodes may do it at once.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Parts } from './parts.ts'

const intervalMs = 5 * 60_000
/** How soon clients are told of sessions that another node, or nobody in particular, has ended. */
const tellMs = 2_000

/** Of next keys, per round: making one costs more than all the rest, and nobody is in a hurry. */
const mostKeys = 20

/** One round over all realms. */
export const tidy = async (parts: Parts): Promise<void> => {
  let keysLeft = mostKeys
  for (const { name } of await parts.realms.list()) {
    const settings = await parts.settingsOf(name)
    if (!settings) continue
    await parts.totals.advance(name)
    if (settings.eventsExpiration > 0)
      await parts.totals.forget(name, parts.clock.now() - settings.eventsExpiration * 1000)
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
    parts.changesets.forgetStatement(),
  ])
}

/** Resolves to what ends it. */
export const startHousekeeping = (parts: Parts): (() => Promise<void>) => {
  const ending = new AbortController()
  const repeat = async (ms: number, work: (parts: Parts) => Promise<void>): Promise<void> => {
    for (;;) {
      await sleep(ms, undefined, { signal: ending.signal, ref: false })
      await work(parts).catch((error) => parts.logger.error({ err: error }, 'housekeeping failed'))
    }
  }
  const running = [
    repeat(intervalMs, tidy),
    repeat(tellMs, async ({ logouts }) => {
      logouts.kick()
      await logouts.idle()
    }),
  ]
  return async () => {
    ending.abort()
    await Promise.allSettled(running)
  }
}
