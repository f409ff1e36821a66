/**
 * A passkey instead of a password: it says who its user is. The device must have asked for a finger, a face or a PIN, which
 * makes it two factors at once. On the first page it is offered beside the password, also by the browser's autofill.
 */

import type { Passkeys } from '#server/credentials/factors/passkeys.ts'
import type { Users } from '#server/users/users.ts'
import { refused, type Step, stepError } from '../../flow/step.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

interface Parts {
  readonly pages: SignInPages
  readonly passkeys: Passkeys
  readonly users: Users
}

export const passwordlessId = 'webauthn-passwordless'

/** The challenge is shown before there is a sign-in to bind it to: it is bound to the realm, and used once. */
export const passkeyAudience = (realm: string): string => `realm:${realm}`

export const webauthnPasswordless = ({ pages, passkeys, users }: Parts): Step => ({
  id: passwordlessId,
  amr: 'hwk',
  identifies: true,
  // The first page offers it beside the password.
  answersBeside: (form) => form('response') !== '',
  suits: async ({ user }) => user !== undefined && (await passkeys.of(user.id)).length > 0,
  show: async ({ realm, user, state, settings }) => {
    // The keys of a user are not revealed for a name alone.
    const known = state.amr.length > 0 ? user : undefined
    const options = await passkeys.requestOptions(settings, known, passkeyAudience(realm))
    return {
      send: (reply, page) => {
        const error = stepError(page.refusal) && 'not-recognised'
        return pages.passkey(reply, { ...page, options, error })
      },
    }
  },
  answer: async ({ realm, user: known, settings, prove }, form) => {
    const response = form('response')
    if (response === '') return refused('not-recognised')
    const owner = passkeys.ownerOf(response) ?? known?.id
    const user = owner === undefined ? undefined : await users.find(realm, owner)
    if (!user || (known && known.id !== user.id)) return prove('webauthn', noMatch)
    const audience = passkeyAudience(realm)
    const proved = await passkeys.verify(settings, user, audience, response, {
      userVerification: true,
    })
    return prove(
      'webauthn',
      async () => ({ matches: proved !== undefined, statements: proved?.statements ?? [] }),
      { user, amr: [proved?.amr ?? 'hwk', 'mfa'] },
    )
  },
})

const noMatch = async () => ({ matches: false, statements: [] })
