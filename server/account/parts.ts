/** What the self-service surface is made of; each part of it takes the few it needs. */

import type { AddressNotice } from '#server/accounts/address-notice.ts'
import type { AddressUndos } from '#server/accounts/address-undos.ts'
import type { Approvals } from '#server/accounts/approvals.ts'
import type { ExportData } from '#server/accounts/data-export.ts'
import type { Devices } from '#server/accounts/devices.ts'
import type { Factors } from '#server/accounts/factors.ts'
import type { Passkeys } from '#server/accounts/passkeys.ts'
import type { Passwords } from '#server/accounts/passwords.ts'
import type { Ranks } from '#server/accounts/permissions.ts'
import type { Transactions } from '#server/accounts/transactions.ts'
import type { PersonalKeys } from '#server/events/personal-keys.ts'
import type { PageScopeParts } from '#server/login/page-scope.ts'
import type { OidcParts } from '#server/oidc/parts.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { LastAdmin } from '#server/resources/last-admin.ts'

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
