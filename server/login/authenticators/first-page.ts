/** What the pages that ask for a name have in common. */

import type { FirstPage } from '#server/http/pages.ts'
import type { AskedPage, StepContext } from '../step.ts'

export const firstPage = ({ settings, realm }: StepContext, page: AskedPage): FirstPage => ({
  ...page,
  emailAllowed: settings.loginWithEmailAllowed,
  rememberMe: settings.rememberMe ? page.refusal?.values?.['rememberMe'] === 'true' : undefined,
  registerUrl: settings.registrationAllowed ? `/realms/${realm}/login/register` : undefined,
})
