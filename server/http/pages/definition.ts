/** The declaration of a page: its template and its exceptions from the content security policy. */

import type { PageContext } from './context.ts'

/** The scripts in `templates/pages/scripts` for pages that cannot do without; `forms` comes with every form besides. */
export type Script = 'submit' | 'webauthn' | 'poll' | 'codes'

export interface Allowed<Model extends PageContext> {
  /** None where the page needs none. */
  readonly script?: (page: Model) => Script | undefined
  /** Addresses that are framed; only their origins may be. */
  readonly frames?: (page: Model) => readonly string[]
  /** Addresses of pictures, beside the logo of the realm; only their origins may be asked. */
  readonly images?: (page: Model) => readonly string[]
  /** Whether pages of ours may frame it; no page of others ever may. */
  readonly isFramed?: boolean
  /** A visit to its address would not show it again, so it offers no other language. */
  readonly once?: boolean
  /** Its `fields` are all that differs from one request to the next: what is around their values is rendered once. */
  readonly isFilled?: boolean
}

export interface PageDefinition<Model extends PageContext> extends Allowed<Model> {
  readonly template: string
}

export const definePage = <Model extends PageContext>(
  template: string,
  allowed: Allowed<Model> = {},
): PageDefinition<Model> => ({ template, ...allowed })
