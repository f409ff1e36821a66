/** A security key or passkey as second factor. */

import type { Passkeys } from '#server/credentials/factors/passkeys.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { refused, type Step, stepError } from '../../flow/step.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'
import { passwordlessId } from './webauthn-passwordless.ts'

interface Parts {
  readonly pages: SignInPages
  readonly passkeys: Passkeys
}

const audienceOf = (user: UserRow | undefined): string => `factor:${user?.id}`

export const webauthn = ({ pages, passkeys }: Parts): Step => ({
  id: 'webauthn',
  amr: 'hwk',
  factor: true,
  enrolment: 'webauthn-register',
  // The passkey is a second factor as well, and not offered once more as a sign-in of its own.
  sameCredentialAs: passwordlessId,
  suits: async ({ user }) => user !== undefined && (await passkeys.of(user.id)).length > 0,
  show: async ({ user, settings }) => {
    const options = await passkeys.requestOptions(settings, user, audienceOf(user))
    return {
      send: (reply, page) => {
        const error = stepError(page.refusal) && 'not-recognised'
        return pages.webauthn(reply, { ...page, options, error })
      },
    }
  },
  answer: async ({ user, settings, prove }, form) => {
    const response = form('response')
    if (!user || response === '') return refused('not-recognised')
    const proved = await passkeys.verify(settings, user, audienceOf(user), response)
    return prove(
      'webauthn',
      async () => ({ matches: proved !== undefined, statements: proved?.statements ?? [] }),
      { amr: [proved?.amr ?? 'hwk'] },
    )
  },
})
