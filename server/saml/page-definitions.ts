/** The page of the identity provider: a response sent by a form. */

import type { PageContext } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { Pages, PagesOf } from '#server/http/pages/pages.ts'

/** A form that is sent on by a script, or by a button where there are none. */
interface ResponsePage extends PageContext {
  readonly application: string
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

export const samlPages = {
  response: definePage<ResponsePage>('form-post', { script: () => 'submit', once: true }),
}

export type SamlPages = Pages & PagesOf<typeof samlPages>
