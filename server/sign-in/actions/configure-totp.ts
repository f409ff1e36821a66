/** Sets up an authenticator app. */

import { type BegunOtp, otpEnrolment } from '#server/credentials/factors/enrolment.ts'
import { otpauthUri, otpIssuer } from '#server/credentials/factors/otp.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Users } from '#server/users/users.ts'
import { type RequiredAction, refused } from '../flow/step.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { completed, ownEvent } from './completed.ts'

interface Parts {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly keyring: Keyring
  readonly users: Users
  readonly clock: Clock
}

const id = 'CONFIGURE_TOTP'

export const configureTotp = (parts: Parts): RequiredAction => {
  const { pages } = parts
  const { begin, parametersOf, finish } = otpEnrolment(parts)

  return {
    id,
    enrols: true,
    show: async (context) => {
      const { realm, settings, user } = context
      const known = context.notes as BegunOtp | undefined
      const notes = known ?? begin(realm, settings)
      const parameters = parametersOf(realm, notes)
      const username = user?.username ?? ''
      const issuer = otpIssuer(realm, settings.displayName)
      return {
        ...(known ? {} : { notes }),
        send: (reply, page) =>
          pages.configureTotp(reply, {
            ...page,
            username,
            secret: parameters.secret,
            otpauthUrl: otpauthUri(parameters, issuer, username),
            digits: parameters.digits,
            error: page.refusal && 'wrong-code',
          }),
      }
    },
    answer: async (context, form) => {
      const { user, settings } = context
      const begun = context.notes as BegunOtp | undefined
      if (!user || !begun) return refused('expired')
      const made = finish(user, settings, begun, form('code'), form('label'))
      if (!made) return refused('wrong-code')
      return context.pass({
        amr: ['otp'],
        statements: [...completed(parts, user, id), ...made.statements],
        events: [ownEvent(context, user, 'UPDATE_CREDENTIAL', 'otp')],
      })
    },
  }
}
