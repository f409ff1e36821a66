/** Name and password on one page: the first page of most sign-ins. */

import type { Passkeys } from '#server/credentials/factors/passkeys.ts'
import type { SignInProviders } from '../../brokers/providers.ts'
import type { Step } from '../../flow/step.ts'
import { resetPath } from '../../pages/addresses.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'
import { createFirstPage } from '../names/first-page.ts'

export const usernamePassword = (parts: {
  readonly pages: SignInPages
  readonly passkeys: Passkeys
  readonly providers: SignInProviders
}): Step => {
  const firstPage = createFirstPage(parts)
  return {
    id: 'username-password',
    amr: 'pwd',
    identifies: true,
    show: async (context) => {
      const { realm, settings, state } = context
      const modelOf = await firstPage(context)
      const resetUrl = resetPath(settings, realm, state.pending)
      return { send: (reply, page) => parts.pages.login(reply, { ...modelOf(page), resetUrl }) }
    },
    answer: ({ attempt }, form) =>
      attempt(form('username'), form('password'), { rememberMe: form('rememberMe') === 'true' }),
  }
}
