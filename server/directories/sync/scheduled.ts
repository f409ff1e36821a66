/** Syncs that a schedule asks for. One node looks at a time; a sync that fails is tried again when it is due again. */

import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { milliseconds } from '#schemas/text/durations.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { realmsWith } from '#server/storage/documents/reads.ts'
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
      await sync({ directory, by, signal })
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
            detail: `scheduled sync: ${reason}`.slice(0, 500),
          },
        ],
      )
    }
  }

  return async (signal: AbortSignal): Promise<void> => {
    for (const realm of await realmsWith(storage.db, IdentityProvider.kind)) {
      const view = await copy.fresh(realm)
      for (const directory of view ? await directoriesIn(view, vault) : []) {
        if (signal.aborted) return
        if (await isDue(directory)) await run(directory, signal)
      }
    }
  }
}

export type ScheduledSyncs = ReturnType<typeof createScheduledSyncs>
