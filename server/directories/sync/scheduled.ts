/**
 * Syncs that a schedule asks for. One node looks at a time; a sync that fails is tried again when it is due again. Realms do not wait
 * for each other: a directory that answers slowly delays the directories of its own realm alone.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { milliseconds } from '#schemas/text/durations.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { realmsWith } from '#server/storage/documents/reads.ts'
import { printable } from '#server/users/names.ts'
import { type Directory, directoriesIn } from '../directory.ts'
import type { Synchronize } from './sync.ts'
import { createSyncState } from './sync-state.ts'

export interface ScheduledParts {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly vault: Pick<Vault, 'reveal'>
  readonly recorder: Recorder
  readonly logger: Pick<Logger, 'warn'>
  readonly sync: Synchronize
}

/** Of all realms; each keeps a directory in memory. */
const mostAtOnce = 4
/** An hour is enough for the largest directory that a sync takes, and short enough for the realms that wait for a place. */
const longestMs = 3_600_000
const lookMs = 60_000

/** Resolves with the work, or after this time. */
const firstOf = async (work: Promise<unknown>, ms: number): Promise<void> => {
  const waiting = new AbortController()
  const { signal } = waiting
  const time = sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
  await Promise.race([work, time])
  waiting.abort()
}

const by = { actor: 'system', sourceIp: '127.0.0.1' } as const

export const createScheduledSyncs = (parts: ScheduledParts) => {
  const { storage, copy, clock, vault, recorder, logger, sync } = parts
  const state = createSyncState({ storage, clock })

  const isDue = async ({ id, enabled, syncSchedule }: Directory): Promise<boolean> => {
    if (!enabled || syncSchedule === undefined) return false
    const row = await state.read(id)
    return clock.now() - (row?.finished_at ?? 0) >= milliseconds(syncSchedule)
  }

  const run = async (directory: Directory, signal: AbortSignal): Promise<void> => {
    const { realm, alias } = directory
    try {
      await sync({ directory, by, signal, longestMs })
    } catch (error) {
      if (signal.aborted) return
      const reason = error instanceof Error ? error.message : String(error)
      logger.warn({ realm, directory: alias, reason }, 'a scheduled sync of a directory failed')
      await recorder.append(
        [],
        [
          {
            type: 'ADMIN_ACTION',
            realm,
            ...by,
            outcome: 'FAILURE',
            resourceType: 'user-federation',
            resourceId: alias,
            detail: `scheduled sync: ${printable(reason, 500)}`,
          },
        ],
      )
    }
  }

  const runRealm = async (realm: string, signal: AbortSignal): Promise<void> => {
    const view = await copy.fresh(realm)
    for (const directory of view ? await directoriesIn(view, vault) : []) {
      if (signal.aborted) return
      if (await isDue(directory)) await run(directory, signal)
    }
  }

  /** One round: until no sync is left, and those of other realms that become due while a long one runs. */
  return async (signal: AbortSignal): Promise<void> => {
    const running = new Map<string, Promise<void>>()
    const begin = (realm: string): void => {
      const done = runRealm(realm, signal)
        .catch((error: unknown) =>
          logger.warn({ err: error, realm }, 'the directories of a realm were not looked at'),
        )
        .finally(() => running.delete(realm))
      running.set(realm, done)
    }
    do {
      for (const realm of await realmsWith(storage.db, IdentityProvider.kind)) {
        if (running.size >= mostAtOnce) await Promise.race(running.values())
        if (!signal.aborted && !running.has(realm)) begin(realm)
      }
      await firstOf(Promise.all(running.values()), lookMs)
    } while (running.size > 0 && !signal.aborted)
    await Promise.all(running.values())
  }
}
