/** What authenticators and required actions are made of; each takes what it uses. */

import type { Factors } from '#server/accounts/factors.ts'
import type { Passwords } from '#server/accounts/passwords.ts'
import type { Users } from '#server/accounts/users.ts'
import type { Pages } from '#server/http/pages.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'

export interface FactorParts {
  readonly pages: Pages
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keyring: Keyring
  readonly users: Users
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly factors: Factors
}
