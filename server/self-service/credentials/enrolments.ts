/**
 * Adding a factor from the account: begun and ended by a sign-in that is recent and as strong as the user has made sign-ins
 * so far.
 */

import type { Recorder } from '#server/audit/audit.ts'
import type { Authenticator } from '#server/credentials/authenticator.ts'
import {
  type BegunOtp,
  type Enrolled,
  otpEnrolment,
  passkeyEnrolment,
  recoveryCodesEnrolment,
} from '#server/credentials/factors/enrolment.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import { otpauthUri, otpIssuer } from '#server/credentials/factors/otp.ts'
import type { Passkeys } from '#server/credentials/factors/passkeys.ts'
import type { RecoveryCodeSet } from '#server/credentials/factors/recovery-codes.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import { completed } from '#server/sign-in/actions/completed.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { Users } from '#server/users/users.ts'
import { type Self, selfEvent } from '../self.ts'
import { createEnrolmentTickets } from './enrolment-tickets.ts'
import { insistOnRecentStrength } from './strength.ts'

export interface EnrolmentParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly keyring: Keyring
  readonly passkeys: Passkeys
  readonly recorder: Recorder
  readonly factors: Factors
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly grantsStore: GrantsStore
  readonly authenticator: Authenticator
  readonly users: Users
}

/** What went wrong with the end of an enrolment: too late, or no proof. */
export type Failure = 'expired' | 'wrong'

/** What may be required of a user, and is done by adding a credential of this type. */
const requiredFor: Readonly<Record<string, string>> = {
  otp: 'CONFIGURE_TOTP',
  webauthn: 'webauthn-register',
  'recovery-codes': 'CONFIGURE_RECOVERY_AUTHN_CODES',
}

export const createEnrolments = (parts: EnrolmentParts) => {
  const { recorder, authenticator } = parts
  const otp = otpEnrolment(parts)
  const recoveryCodes = recoveryCodesEnrolment(parts)
  const passkey = passkeyEnrolment(parts)
  const otpTickets = createEnrolmentTickets<BegunOtp>(parts, 'otp')
  const codeTickets = createEnrolmentTickets<RecoveryCodeSet>(parts, 'recovery-codes')

  const insist = (self: Self): Promise<void> => insistOnRecentStrength(parts, self)

  const store = async (
    self: Self,
    { row, statements }: Enrolled,
    spend: readonly Statement[] = [],
  ): Promise<CredentialRow> => {
    await recorder.commit(
      [
        authenticator.stillAllowed(self.user),
        ...completed(parts, self.user, requiredFor[row.type] ?? ''),
        ...spend,
        ...statements,
      ],
      [selfEvent(self, 'UPDATE_CREDENTIAL', row.type)],
    )
    return row
  }

  /** The key URI for an app. */
  const shownOtp = ({ issuer, user }: Self, begun: BegunOtp) => {
    const parameters = otp.parametersOf(issuer.name, begun)
    const name = otpIssuer(issuer.name, issuer.settings.displayName)
    return { ...parameters, otpauthUri: otpauthUri(parameters, name, user.username) }
  }

  return {
    otp: {
      begin: async (self: Self) => {
        await insist(self)
        const begun = otp.begin(self.issuer.name, self.issuer.settings)
        return { ...otpTickets.issue(self.user, begun), ...shownOtp(self, begun) }
      },
      /** What a ticket that is still good is about. */
      shown: async (self: Self, ticket: string) => {
        await insist(self)
        const found = otpTickets.open(self.user, ticket)
        return found && { ticket, ...shownOtp(self, found.data) }
      },
      finish: async (
        self: Self,
        { ticket, code, label }: { ticket: string; code: string; label: string },
      ): Promise<CredentialRow | Failure> => {
        await insist(self)
        const { user, issuer } = self
        const found = otpTickets.open(user, ticket)
        if (!found) return 'expired'
        const made = otp.finish(user, issuer.settings, found.data, code, label)
        return made ? store(self, made, found.spend) : 'wrong'
      },
    },
    passkey: {
      begin: async (self: Self): Promise<object> => {
        await insist(self)
        return passkey.begin(self.issuer.settings, self.user)
      },
      finish: async (
        self: Self,
        { response, label }: { response: string; label: string },
      ): Promise<CredentialRow | Failure> => {
        await insist(self)
        const made = await passkey.finish(self.issuer.settings, self.user, response, label)
        return made ? store(self, made) : 'wrong'
      },
    },
    recoveryCodes: {
      begin: async (self: Self) => {
        await insist(self)
        const { codes, set } = recoveryCodes.begin()
        return { ...codeTickets.issue(self.user, set), codes }
      },
      finish: async (self: Self, ticket: string): Promise<CredentialRow | Failure> => {
        await insist(self)
        const found = codeTickets.open(self.user, ticket)
        if (!found) return 'expired'
        return store(self, recoveryCodes.finish(self.user, found.data), found.spend)
      },
    },
  }
}

export type Enrolments = ReturnType<typeof createEnrolments>
