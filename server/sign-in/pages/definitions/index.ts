/** THE list of pages of a sign-in. */

import type { Pages, PagesOf } from '#server/http/pages/pages.ts'
import { brokerPages } from './brokers.ts'
import { choicePages } from './choices.ts'
import { enrolmentPages } from './enrolment.ts'
import { factorPages } from './factors.ts'
import { loginPages } from './login.ts'
import { registrationPages } from './registration.ts'

export const signInPages = {
  ...loginPages,
  ...factorPages,
  ...choicePages,
  ...registrationPages,
  ...enrolmentPages,
  ...brokerPages,
}

export type SignInPages = Pages & PagesOf<typeof signInPages>
