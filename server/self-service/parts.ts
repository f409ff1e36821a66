/** What the self-service surface is made of; each part of it takes the few it needs. */

import type { PersonalKeys } from '#server/audit/personal-keys.ts'
import type { Approvals } from '#server/credentials/approvals.ts'
import type { Devices } from '#server/credentials/devices.ts'
import type { Factors } from '#server/credentials/factors.ts'
import type { Passkeys } from '#server/credentials/passkeys.ts'
import type { Passwords } from '#server/credentials/passwords.ts'
import type { Transactions } from '#server/credentials/transactions.ts'
import type { OidcParts } from '#server/oidc/parts.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { LastAdmin } from '#server/realm/rules/last-admin.ts'
import type { PageScopeParts } from '#server/sign-in/pages/page-scope.ts'
import type { AddressNotice } from '#server/users/address-notice.ts'
import type { AddressUndos } from '#server/users/address-undos.ts'
import type { ExportData } from '#server/users/data-export.ts'
import type { Ranks } from '#server/users/permissions.ts'

export interface AccountParts extends Omit<OidcParts, 'directLack'> {
  readonly devices: Devices
  readonly approvals: Approvals
  readonly passkeys: Passkeys
  readonly transactions: Transactions
  readonly factors: Factors
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly passwords: Passwords
  readonly keyring: Keyring
  readonly exportData: ExportData
  readonly addressNotice: AddressNotice
  readonly addressUndos: AddressUndos
  readonly settingsOf: PageScopeParts['settingsOf']
  readonly lastAdmin: Pick<LastAdmin, 'aroundData'>
  readonly personalKeys: Pick<PersonalKeys, 'destroyPersonalKey'>
}
