/** The answer as a form that the browser sends (OAuth 2.0 Form Post Response Mode §2): by script, or by a button. */

import { displayNameOf } from '#schemas/kinds/clients/client.ts'
import { pageContext } from '#server/sign-in/pages/visit.ts'
import { formTargets } from '#server/sign-in/waiting/form-targets.ts'
import type { OidcPages } from '../../page-definitions.ts'
import type { ResponseMode } from './mode.ts'

export const formPost = ({ pages }: { readonly pages: OidcPages }): ResponseMode => ({
  name: 'form_post',
  send: async ({ issuer, client, redirectUri, parameters }, request, reply) =>
    pages.formPost(reply, {
      ...pageContext(pages, request, issuer.name, issuer.settings),
      formTargets: formTargets(redirectUri),
      action: redirectUri,
      fields: parameters,
      application: displayNameOf(client.doc),
    }),
})
