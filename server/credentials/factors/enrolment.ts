/**
 * Enrolment of factors, in a sign-in or from the account: it starts with a value that is shown to the user, and ends with a
 * proof that the user has it. Only the caller stores anything in between.
 */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Keyring, SealedValue } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'
import { printable } from '#server/users/names.ts'
import { credentialContext, deleteCredentials, insertCredentials } from '../credentials.ts'
import { newOtpSecret, type OtpParameters, otpParameters, timeStepOf } from './otp.ts'
import type { Passkeys } from './passkeys.ts'
import { newRecoveryCode, type RecoveryCodeSet, recoveryCodeSet } from './recovery-codes.ts'

/** What is to be committed, and the credential that it makes. */
export interface Enrolled {
  readonly row: CredentialRow
  readonly statements: readonly Statement[]
}

interface Parts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}

/** The id is that of the credential to be, to which the secret is sealed. */
export interface BegunOtp {
  readonly id: string
  readonly sealed: SealedValue
}

const recoveryCodesType = 'recovery-codes'
const recoveryCodesCount = 10

const labelOf = (label: string): string | null => printable(label.trim(), 255) || null

/** An authenticator app: a secret that waits, sealed, until a first code shows that the app has it. */
export const otpEnrolment = ({
  storage,
  clock,
  keyring,
}: Parts & { readonly keyring: Keyring }) => {
  const parametersOf = (realm: string, { id, sealed }: BegunOtp): OtpParameters =>
    JSON.parse(keyring.open(sealed, credentialContext(realm, id)))

  return {
    begin: (realm: string, settings: SettingsDoc): BegunOtp => {
      const id = newId()
      const parameters = otpParameters(settings, newOtpSecret())
      const context = credentialContext(realm, id)
      return { id, sealed: keyring.seal(JSON.stringify(parameters), context) }
    },

    parametersOf,

    /** Undefined where the code is wrong. */
    finish: (
      { id: userId, realm }: UserRow,
      { otpPolicyLookAroundWindow: window }: SettingsDoc,
      begun: BegunOtp,
      code: string,
      label: string,
    ): Enrolled | undefined => {
      const now = clock.now()
      const step = timeStepOf(parametersOf(realm, begun), code, now, window)
      if (step === undefined) return undefined
      const row: CredentialRow = {
        id: begun.id,
        realm,
        user_id: userId,
        type: 'otp',
        label: labelOf(label),
        priority: 10,
        secret: JSON.stringify(begun.sealed),
        created_at: now,
        used: step,
      }
      return { row, statements: insertCredentials(storage, [row]) }
    },
  }
}

/** Codes for emergencies: shown once; what is kept of them replaces what was there before. */
export const recoveryCodesEnrolment = ({ storage, clock }: Parts) => ({
  begin: (): { readonly codes: readonly string[]; readonly set: RecoveryCodeSet } => {
    const codes = Array.from({ length: recoveryCodesCount }, newRecoveryCode)
    return { codes, set: recoveryCodeSet(codes) }
  },

  finish: ({ id: userId, realm }: UserRow, set: RecoveryCodeSet): Enrolled => {
    const row: CredentialRow = {
      id: newId(),
      realm,
      user_id: userId,
      type: recoveryCodesType,
      label: null,
      priority: 20,
      secret: JSON.stringify(set),
      created_at: clock.now(),
      used: 0,
    }
    const earlier = deleteCredentials(storage, userId, recoveryCodesType)
    return { row, statements: [earlier, ...insertCredentials(storage, [row])] }
  },
})

/** A security key or passkey, which signs a challenge. */
export const passkeyEnrolment = ({
  storage,
  passkeys,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly passkeys: Passkeys
}) => {
  const audienceOf = ({ id }: UserRow): string => `register:${id}`
  return {
    begin: (settings: SettingsDoc, user: UserRow): Promise<object> =>
      passkeys.creationOptions(settings, user, audienceOf(user)),

    /** Undefined where the answer is none; `response` is its JSON. */
    finish: async (
      settings: SettingsDoc,
      user: UserRow,
      response: string,
      label: string,
    ): Promise<Enrolled | undefined> => {
      const audience = audienceOf(user)
      const made = await passkeys.register(settings, user, audience, response, labelOf(label))
      if (!made) return undefined
      const { row, statements } = made
      return { row, statements: [...statements, ...insertCredentials(storage, [row])] }
    },
  }
}
