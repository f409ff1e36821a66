/** Asks who is signing in. A name that nobody has goes on like any other: what comes next fails for it. */

import { printable } from '#server/accounts/names.ts'
import type { FactorParts } from '../factor-parts.ts'
import { loginError, refused, type Step } from '../step.ts'
import { firstPage } from './first-page.ts'

const longestName = 320

export const identify = ({ pages, users }: Pick<FactorParts, 'pages' | 'users'>): Step => ({
  id: 'identify',
  identifies: true,
  show: async (context) => ({
    send: (reply, page) =>
      pages.identify(reply, { ...firstPage(context, page), error: loginError(page.refusal) }),
  }),
  answer: async ({ realm, settings, pass }, form) => {
    const name = printable(form('username').trim(), longestName)
    if (name === '') return refused('credentials')
    const found = await users.findByLogin(realm, name, {
      withEmail: settings.loginWithEmailAllowed,
    })
    const isAllowed = found?.user.enabled === 1 && found.user.locked === 0
    return pass({
      name,
      user: isAllowed ? found.user : undefined,
      rememberMe: form('rememberMe') === 'true',
    })
  },
})
