/** Sets up an authenticator app: a secret that waits, sealed, until a first code shows that the app has it. */

import { credentialContext } from '#server/accounts/credentials.ts'
import { printable } from '#server/accounts/names.ts'
import {
  newOtpSecret,
  type OtpParameters,
  otpauthUri,
  otpIssuer,
  otpParameters,
} from '#server/accounts/otp.ts'
import { newId } from '#server/platform/ids.ts'
import type { SealedValue } from '#server/platform/sealing.ts'
import { insertRows } from '#server/storage/statements.ts'
import { timeStepOf } from '../authenticators/totp.ts'
import type { FactorParts } from '../factor-parts.ts'
import { type RequiredAction, refused, type StepContext } from '../step.ts'
import { completed, ownEvent } from './completed.ts'

type Parts = Pick<FactorParts, 'pages' | 'storage' | 'keyring' | 'users' | 'clock'>

const id = 'CONFIGURE_TOTP'

/** The id is that of the credential to be, to which the secret is sealed. */
interface Notes {
  readonly id: string
  readonly sealed: SealedValue
}

export const configureTotp = (parts: Parts): RequiredAction => {
  const { pages, storage, keyring, clock } = parts

  const begun = ({ realm, settings }: StepContext): Notes => {
    const credential = newId()
    const parameters = otpParameters(settings, newOtpSecret())
    const context = credentialContext(realm, credential)
    return { id: credential, sealed: keyring.seal(JSON.stringify(parameters), context) }
  }

  const parametersOf = (realm: string, notes: Notes): OtpParameters =>
    JSON.parse(keyring.open(notes.sealed, credentialContext(realm, notes.id)))

  return {
    id,
    show: async (context) => {
      const { realm, settings, user } = context
      const known = context.notes as Notes | undefined
      const notes = known ?? begun(context)
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
      const { realm, user, settings, notes } = context
      const begunBefore = notes as Notes | undefined
      if (!user || !begunBefore) return refused('expired')
      const parameters = parametersOf(realm, begunBefore)
      const now = clock.now()
      const window = settings.otpPolicyLookAroundWindow
      const step = timeStepOf(parameters, form('code'), now, window)
      if (step === undefined) return refused('wrong-code')
      const row = {
        id: begunBefore.id,
        realm,
        user_id: user.id,
        type: 'otp',
        label: printable(form('label').trim(), 255) || null,
        priority: 10,
        secret: JSON.stringify(begunBefore.sealed),
        created_at: now,
        used: step,
      }
      return context.pass({
        amr: ['otp'],
        statements: [
          ...completed(parts, user, id),
          ...insertRows(storage.db, 'credentials', [row]),
        ],
        events: [ownEvent(context, user, 'UPDATE_CREDENTIAL', 'otp')],
      })
    },
  }
}
