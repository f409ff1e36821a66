/** Name and password on one page: the first page of most sign-ins. */

import type { FactorParts } from '../factor-parts.ts'
import type { Step } from '../step.ts'
import { createFirstPage } from './first-page.ts'

export const usernamePassword = (parts: Pick<FactorParts, 'pages' | 'passkeys'>): Step => {
  const firstPage = createFirstPage(parts)
  return {
    id: 'username-password',
    amr: 'pwd',
    identifies: true,
    show: async (context) => {
      const { realm, settings } = context
      const modelOf = await firstPage(context)
      const resetUrl = settings.resetPasswordAllowed ? `/realms/${realm}/login/forgot` : undefined
      return { send: (reply, page) => parts.pages.login(reply, { ...modelOf(page), resetUrl }) }
    },
    answer: ({ attempt }, form) =>
      attempt(form('username'), form('password'), { rememberMe: form('rememberMe') === 'true' }),
  }
}
