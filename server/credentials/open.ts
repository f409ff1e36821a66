/** Opens the credentials of users: passwords, second factors, passkeys and devices, and the defence against guessing. */

import type { Recorder } from '#server/audit/audit.ts'
import type { Config } from '#server/config/index.ts'
import type { Secrets } from '#server/keys/secrets.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { PlatformArea } from '#server/platform/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { UsersArea } from '#server/users/open.ts'
import { createAuthenticator } from './authenticator.ts'
import { createApprovals } from './devices/approvals.ts'
import { createDevices } from './devices/devices.ts'
import { createTransactions } from './devices/transactions.ts'
import type { DirectoryPasswords } from './directory-passwords.ts'
import { createFactors } from './factors/factors.ts'
import { createPasskeys } from './factors/passkeys.ts'
import { createBruteForce } from './guessing/brute-force.ts'
import { createDecoys } from './guessing/decoys.ts'
import { createLockNotice } from './guessing/lock-notice.ts'
import { openBreachCheck } from './passwords/breach-check.ts'
import { createPasswords } from './passwords/passwords.ts'

export interface CredentialNeeds {
  readonly config: Pick<Config, 'passwords' | 'http'>
  readonly storage: Storage
  readonly clock: Clock
  readonly logger: Logger
  readonly secrets: Pick<Secrets, 'keyring' | 'keyFor'>
  readonly platform: Pick<PlatformArea, 'hasher' | 'outgoing'>
  readonly recorder: Recorder
  readonly users: Pick<UsersArea, 'store' | 'post'>
  readonly directories: DirectoryPasswords
}

export const openCredentials = (needs: CredentialNeeds) => {
  const { config, storage, clock, logger, secrets, platform, recorder, users, directories } = needs
  const { keyring, keyFor } = secrets
  const passwords = createPasswords({
    hasher: platform.hasher,
    breach: openBreachCheck(config.passwords, platform.outgoing, logger),
    decoys: createDecoys({ storage, clock, key: keyFor('decoys') }),
    storage,
    clock,
    directories,
  })
  const bruteForce = createBruteForce({ storage, clock })
  const factors = createFactors(storage)
  const codeKey = keyFor('sign-in-codes')
  const { baseUrl } = config.http
  return {
    passwords,
    bruteForce,
    factors,
    passkeys: createPasskeys({ storage, clock, factors, key: codeKey, baseUrl }),
    devices: createDevices({ storage, clock, keyring, factors }),
    approvals: createApprovals({ storage, clock }),
    transactions: createTransactions({ storage, clock }),
    authenticator: createAuthenticator({
      storage,
      recorder,
      users: users.store,
      passwords,
      bruteForce,
      lockNotice: createLockNotice({ post: users.post, clock }),
      directories,
    }),
    /** Makes the codes and links of messages; every node has the same. */
    codeKey,
  }
}

export type CredentialsArea = ReturnType<typeof openCredentials>
