/** A code from an authenticator app (RFC 6238). A time step that was accepted is not accepted again (§5.2). */

import type { Checked } from '#server/credentials/attempt.ts'
import { advanceCredential, credentialContext } from '#server/credentials/credentials.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import { type OtpParameters, timeStepOf } from '#server/credentials/factors/otp.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'
import { refused, type Step, stepError } from '../../flow/step.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

interface Parts {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keyring: Keyring
  readonly factors: Factors
}

export const totp = ({ pages, storage, clock, keyring, factors }: Parts): Step => {
  const parametersOf = ({ realm, id, secret }: CredentialRow): OtpParameters =>
    JSON.parse(keyring.open(JSON.parse(secret), credentialContext(realm, id)))

  const check = async (userId: string, code: string, window: number): Promise<Checked> => {
    for (const row of await factors.ofType(userId, 'otp')) {
      const step = timeStepOf(parametersOf(row), code, clock.now(), window)
      if (step === undefined || step <= row.used) continue
      return { matches: true, statements: [advanceCredential(storage, row, step, 'otp-step')] }
    }
    return { matches: false, statements: [] }
  }

  return {
    id: 'totp',
    amr: 'otp',
    factor: true,
    enrolment: 'CONFIGURE_TOTP',
    suits: async ({ user }) =>
      user !== undefined && (await factors.ofType(user.id, 'otp')).length > 0,
    show: async ({ settings }) => ({
      send: (reply, page) =>
        pages.totp(reply, {
          ...page,
          digits: settings.otpPolicyDigits,
          error: stepError(page.refusal),
        }),
    }),
    answer: async ({ user, settings, prove }, form) => {
      const code = form('code')
      if (!user || code === '') return refused('wrong-code')
      return prove('otp', () => check(user.id, code, settings.otpPolicyLookAroundWindow))
    },
  }
}
