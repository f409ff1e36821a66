/** What authenticators and required actions are made of; each takes what it uses. */

import type { Approvals } from '#server/credentials/approvals.ts'
import type { Devices } from '#server/credentials/devices.ts'
import type { Factors } from '#server/credentials/factors.ts'
import type { Passkeys } from '#server/credentials/passkeys.ts'
import type { Passwords } from '#server/credentials/passwords.ts'
import type { Pages } from '#server/http/pages/pages.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { AddressNotice } from '#server/users/address-notice.ts'
import type { Invitations } from '#server/users/invitations.ts'
import type { Post } from '#server/users/post.ts'
import type { Users } from '#server/users/users.ts'
import type { KnownDevices } from '../known-devices.ts'
import type { Administrators } from '../messages/administrators.ts'
import type { SignInOrganizations } from '../organizations.ts'

export interface FactorParts {
  readonly pages: Pages
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keyring: Keyring
  readonly users: Users
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly factors: Factors
  readonly passkeys: Passkeys
  readonly administrators: Administrators
  readonly devices: Pick<Devices, 'of' | 'addressesOf'>
  readonly approvals: Approvals
  readonly messaging: Pick<Messaging, 'ready'>
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly addressNotice: AddressNotice
  readonly knownDevices: KnownDevices
  readonly organizations: SignInOrganizations
  readonly invitations: Pick<Invitations, 'findById' | 'isOpen' | 'accept'>
  /** Signs what a code or link is remembered by. */
  readonly codeKey: Uint8Array
  /** Links in messages begin with it, whatever a request says. */
  readonly baseUrl: string
}
