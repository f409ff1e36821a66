/** Opens the configuration of realms: the write path, and what is read, applied and presented through it. */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Config } from '#server/config/index.ts'
import type { CredentialsArea } from '#server/credentials/open.ts'
import type { Secrets } from '#server/keys/secrets.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { settingsOf } from '#server/storage/documents/settings.ts'
import type { UsersArea } from '#server/users/open.ts'
import { createBehaviours } from './behaviours/index.ts'
import { createChangesets } from './changesets/changesets.ts'
import { createPresenter } from './crud/present.ts'
import { createGroupDocuments } from './directory-groups.ts'
import { createRealms, masterRealm } from './realms.ts'
import { createLastAdmin } from './rules/last-admin.ts'
import { createRefuseUnlessOutranked } from './rules/stronger.ts'
import { createWriter } from './write/write.ts'

export interface RealmNeeds {
  readonly config: Pick<Config, 'limits'>
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly secrets: Pick<Secrets, 'keyring' | 'vault'>
  readonly recorder: Recorder
  readonly users: Pick<UsersArea, 'store' | 'ranks' | 'addressNotice' | 'erasedPeople'>
  readonly credentials: Pick<CredentialsArea, 'passwords'>
}

export const openRealm = (needs: RealmNeeds) => {
  const { config, storage, copy, clock, secrets, recorder, users, credentials } = needs
  const { keyring, vault } = secrets
  const { passwords } = credentials
  const behaviours = createBehaviours({
    users: users.store,
    passwords,
    ranks: users.ranks,
    copy,
    addressNotice: users.addressNotice,
    erasedPeople: users.erasedPeople,
  })
  const lastAdmin = createLastAdmin({ storage, master: masterRealm })
  const writer = createWriter({ storage, recorder, copy, clock, vault, behaviours, lastAdmin })
  const realms = createRealms({
    storage,
    writer,
    recorder,
    users: users.store,
    passwords,
    keyring,
    clock,
  })
  return {
    writer,
    realms,
    lastAdmin,
    refuseUnlessOutranked: createRefuseUnlessOutranked(storage.db),
    directoryGroups: createGroupDocuments({ copy, writer }),
    presenter: createPresenter(behaviours, { db: storage.db, clock }),
    changesets: createChangesets({ storage, writer, realms, clock, limits: config.limits }),
    /** The settings of a realm as of now; null where there is no such realm. */
    settingsOf: async (realm: string): Promise<SettingsDoc | null> => {
      const view = await copy.fresh(realm)
      return (view && (await settingsOf(view))) ?? null
    },
  }
}

export type RealmArea = ReturnType<typeof openRealm>
