/** Registers a security key or passkey. */

import { passkeyEnrolment } from '#server/credentials/factors/enrolment.ts'
import type { Passkeys } from '#server/credentials/factors/passkeys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Users } from '#server/users/users.ts'
import { type RequiredAction, refused } from '../flow/step.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { completed, ownEvent } from './completed.ts'

interface Parts {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly users: Users
  readonly clock: Clock
  readonly passkeys: Passkeys
}

const id = 'webauthn-register'

export const registerPasskey = (parts: Parts): RequiredAction => {
  const { begin, finish } = passkeyEnrolment(parts)
  return {
    id,
    enrols: true,
    show: async ({ user, settings }) => {
      if (!user) throw new Error('a passkey is registered for an identified user only')
      const options = await begin(settings, user)
      return {
        send: (reply, page) =>
          parts.pages.registerPasskey(reply, {
            ...page,
            username: user.username,
            options,
            error: page.refusal && 'not-recognised',
          }),
      }
    },
    answer: async (context, form) => {
      const { user, settings, pass } = context
      const response = form('response')
      if (!user || response === '') return refused('not-recognised')
      const made = await finish(settings, user, response, form('label'))
      if (!made) return refused('not-recognised', 400)
      return pass({
        amr: ['hwk'],
        statements: [...completed(parts, user, id), ...made.statements],
        events: [ownEvent(context, user, 'UPDATE_CREDENTIAL', made.row.type)],
      })
    },
  }
}
