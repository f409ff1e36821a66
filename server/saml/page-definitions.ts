/** The pages of the identity provider: responses sent by a form, and with which account to go on. */

import type { FormPage, PageContext } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { Pages, PagesOf } from '#server/http/pages/pages.ts'

/** A form that is sent on by a script, or by a button where there are none. */
interface ResponsePage extends PageContext {
  readonly application: string
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

/** Posts `decision`, `continue` or `other`. */
interface AccountPage extends FormPage {
  readonly application: string
  readonly username: string
  readonly name?: string | undefined
}

export const samlPages = {
  response: definePage<ResponsePage>('form-post', { script: () => 'submit', once: true }),
  account: definePage<AccountPage>('choose-account'),
}

export type SamlPages = Pages & PagesOf<typeof samlPages>
