/** Opens the directories of all realms: connections and sign-in; and, once the realms are open, their sync. */

import type { SyncStanding } from '#schemas/wire/directory-sync.ts'
import type { Finding } from '#schemas/wire/findings.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { UsersArea } from '#server/users/open.ts'
import { createConnections } from './connections.ts'
import type { Directory } from './directory.ts'
import { createDirectoryPasswords } from './passwords/passwords.ts'
import { standingOf } from './sync/progress.ts'
import { createScheduledSyncs } from './sync/scheduled.ts'
import { createSync, type SyncParts } from './sync/sync.ts'
import { createSyncState } from './sync/sync-state.ts'

export interface DirectoryNeeds {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly logger: Logger
  readonly outgoing: Outgoing
  readonly vault: Pick<Vault, 'reveal'>
  readonly users: Pick<UsersArea, 'store' | 'ranks' | 'links'>
}

export const openDirectories = (needs: DirectoryNeeds) => {
  const { storage, copy, clock, logger, outgoing, vault, users } = needs
  const connections = createConnections({ outgoing, clock })
  const passwords = createDirectoryPasswords({
    storage,
    copy,
    clock,
    logger,
    vault,
    users: users.store,
    links: users.links,
    connections,
  })
  return {
    connections,
    passwords,
    check: async (directory: Directory): Promise<readonly Finding[]> => {
      const { checkDirectory } = await import('./check.ts')
      return checkDirectory({ outgoing, clock }, directory)
    },
    /** Of the last sync of a provider, or the one that runs. */
    syncStandingOf: async (provider: string): Promise<SyncStanding> => {
      const row = await createSyncState({ storage, clock }).read(provider)
      return standingOf(row, clock.now())
    },
    openSync: ({
      recorder,
      groups,
      keepAdministrator,
    }: Pick<SyncParts, 'recorder' | 'groups' | 'keepAdministrator'>) => {
      const sync = createSync({
        storage,
        copy,
        clock,
        users: users.store,
        ranks: users.ranks,
        links: users.links,
        connections,
        recorder,
        groups,
        keepAdministrator,
      })
      const scheduled = createScheduledSyncs({
        storage,
        copy,
        clock,
        vault,
        recorder,
        logger,
        sync,
      })
      return { sync, scheduled }
    },
    close: connections.close,
  }
}

export type DirectoriesArea = ReturnType<typeof openDirectories>
