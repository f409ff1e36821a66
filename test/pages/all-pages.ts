/** The pages of all areas in one object. */

import { landingPages } from '#server/admin/landing-page.ts'
import type { Pages, PagesOf } from '#server/http/pages/pages.ts'
import { oidcPages } from '#server/oidc/page-definitions.ts'
import { samlPages } from '#server/saml/page-definitions.ts'
import { selfServicePages } from '#server/self-service/pages/definitions.ts'
import { signInPages } from '#server/sign-in/pages/definitions/index.ts'

export const allPages = {
  ...signInPages,
  ...oidcPages,
  samlLogout: samlPages.logout,
  ...selfServicePages,
  ...landingPages,
}

export type AllPages = Pages & PagesOf<typeof allPages>
