/** Name and password on one page: the first page of most sign-ins. */

import type { FactorParts } from '../factor-parts.ts'
import { loginError, type Step } from '../step.ts'
import { firstPage } from './first-page.ts'

export const usernamePassword = ({ pages }: Pick<FactorParts, 'pages'>): Step => ({
  id: 'username-password',
  amr: 'pwd',
  identifies: true,
  show: async (context) => ({
    send: (reply, page) =>
      pages.login(reply, {
        ...firstPage(context, page),
        error: loginError(page.refusal),
        ...(context.settings.resetPasswordAllowed
          ? { resetUrl: `/realms/${context.realm}/login/forgot` }
          : {}),
      }),
  }),
  answer: ({ attempt }, form) =>
    attempt(form('username'), form('password'), { rememberMe: form('rememberMe') === 'true' }),
})
