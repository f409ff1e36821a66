/**
 * The master key that a start uses. A key is made only for a database that nothing is sealed in yet: beside a database that
 * was restored without its key, a new file would look like the key that belongs to it.
 */

import type { Config } from '#server/config/index.ts'
import { loadMasterKey, masterKeyFile } from '#server/platform/master-key.ts'
import { type Keyring, MasterKeyError } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import { presentKey } from './present-key.ts'
import { sealedRootSecret } from './root-secret.ts'

/** Before the database is opened: nothing is made in a database that no key is given for. Null where the start makes one. */
export const keyAtHand = (config: Config): Keyring | null =>
  presentKey(config) ??
  (config.database.url.startsWith('sqlite:') ? null : loadMasterKey(config.keys))

export const firstKey = async (
  { runtime: { data } }: Pick<Config, 'runtime'>,
  storage: Storage,
): Promise<Keyring> => {
  if (await sealedRootSecret(storage))
    throw new MasterKeyError(
      `${masterKeyFile(data)} is missing, and the database is sealed under it: give the key of this database (IAMCTL_MASTER_KEY, --master-key-file or <data>/master.key)`,
    )
  return loadMasterKey({ dataDir: data })
}
