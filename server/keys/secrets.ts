/** Opens the secrets of an installation: its master key, and what is sealed under it or derived from its root secret. */

import type { Config } from '#server/config/index.ts'
import { deriveKey, type Keyring } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import { firstKey } from './installation-key.ts'
import { loadRootSecret } from './root-secret.ts'
import { createVault } from './vault.ts'

export interface SecretNeeds {
  readonly config: Pick<Config, 'runtime'>
  readonly storage: Storage
  /** The master key that was given; null where the first start makes one. */
  readonly given: Keyring | null
}

export const openSecrets = async ({ config, storage, given }: SecretNeeds) => {
  const keyring = given ?? (await firstKey(config, storage))
  const root = await loadRootSecret(storage, keyring)
  return {
    keyring,
    vault: createVault(keyring, deriveKey(root, 'client-secrets')),
    /** The key of one purpose: the same on every node, and after a rotation of the master key. */
    keyFor: (purpose: string): Uint8Array => deriveKey(root, purpose),
  }
}

export type Secrets = Awaited<ReturnType<typeof openSecrets>>
