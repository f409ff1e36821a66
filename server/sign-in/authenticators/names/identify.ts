/** Asks for the username. An unknown name continues like any other: the next step fails for it. */

import type { Passkeys } from '#server/credentials/factors/passkeys.ts'
import { printable } from '#server/users/names.ts'
import type { Users } from '#server/users/users.ts'
import type { SignInProviders } from '../../brokers/providers.ts'
import { refused, type Step } from '../../flow/step.ts'
import { signInPath } from '../../pages/addresses.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'
import { createFirstPage } from './first-page.ts'

interface Parts {
  readonly pages: SignInPages
  readonly passkeys: Passkeys
  readonly users: Users
  readonly providers: SignInProviders
}

const longestName = 320

export const identify = (parts: Parts): Step => {
  const firstPage = createFirstPage(parts)
  return {
    id: 'identify',
    identifies: true,
    // Asked only before the first proof (questions.ts): proofs belong to the identified user.
    isDone: ({ user, state }) => user !== undefined && state.amr.length > 0,
    show: async (context) => {
      const modelOf = await firstPage(context)
      const isForgotten = context.state.entry === 'forgot'
      return {
        send: (reply, page) =>
          isForgotten
            ? parts.pages.forgotPassword(reply, {
                ...modelOf(page),
                error: page.refusal?.error === 'unavailable' ? 'unavailable' : undefined,
                loginUrl: signInPath(context.realm, context.state.pending),
              })
            : parts.pages.identify(reply, modelOf(page)),
      }
    },
    answer: async ({ realm, settings, pass }, form) => {
      const name = printable(form('username').trim(), longestName)
      if (name === '') return refused('credentials')
      const found = await parts.users.findByLogin(realm, name, {
        withEmail: settings.loginWithEmailAllowed,
      })
      const isAllowed = found?.user.enabled === 1 && found.user.locked === 0
      return pass({
        name,
        user: isAllowed ? found.user : undefined,
        rememberMe: form('rememberMe') === 'true',
      })
    },
  }
}
