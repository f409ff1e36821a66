/** What the self-service surface is made of; each part of it takes the few it needs. */

import type { Approvals } from '#server/accounts/approvals.ts'
import type { Devices } from '#server/accounts/devices.ts'
import type { Passkeys } from '#server/accounts/passkeys.ts'
import type { Transactions } from '#server/accounts/transactions.ts'
import type { OidcParts } from '#server/oidc/parts.ts'

export interface AccountParts extends OidcParts {
  readonly devices: Devices
  readonly approvals: Approvals
  readonly passkeys: Passkeys
  readonly transactions: Transactions
}
