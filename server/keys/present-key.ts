/** The existing master key, and whether it belongs to the database; no key is made. */

import { existsSync } from 'node:fs'
import type { Config } from '#server/config/index.ts'
import { loadMasterKey, masterKeyFile } from '#server/platform/master-key.ts'
import { type Keyring, SealError } from '#server/platform/sealing.ts'
import { rootSecretContext } from './root-secret.ts'

/** As it is given, or as the embedded server has made it. */
export const presentKey = ({
  keys,
  database,
  runtime,
}: Pick<Config, 'keys' | 'database' | 'runtime'>): Keyring | null => {
  if (keys.key !== undefined || keys.keyFile !== undefined) return loadMasterKey(keys)
  const keyFile = masterKeyFile(runtime.data)
  const isEmbedded = database.url.startsWith('sqlite:')
  return isEmbedded && existsSync(keyFile) ? loadMasterKey({ keyFile }) : null
}

/** Whether it opens the root secret, as the table `meta` holds it. */
export const opensRootSecret = (keyring: Keyring, stored: string): boolean => {
  try {
    keyring.open(JSON.parse(stored), rootSecretContext)
    return true
  } catch (error) {
    if (error instanceof SealError) return false
    throw error
  }
}
