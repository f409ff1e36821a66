/** Opens the signing keys of realms and clients: making, rotating, publishing, signing. */

import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { createKeyPolicies } from './policy.ts'
import { createRealmKeys } from './realm-keys.ts'
import { createSigningKeys } from './rotation.ts'
import { createSigner } from './signer.ts'

export interface KeyNeeds {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly logger: Logger
  readonly keyring: Keyring
  readonly recorder: Recorder
}

export const openKeys = ({ storage, copy, clock, logger, keyring, recorder }: KeyNeeds) => {
  const signer = createSigner()
  const signingKeys = createSigningKeys({ storage, recorder, keyring, clock, copy, logger })
  return {
    signingKeys,
    realmKeys: createRealmKeys({ storage, keyring, signer, clock }),
    policies: createKeyPolicies({ storage, clock, signingKeys }),
    close: async () => {
      await signingKeys.idle()
      await signer.close()
    },
  }
}

export type KeysArea = ReturnType<typeof openKeys>
