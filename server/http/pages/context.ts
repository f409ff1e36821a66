/** The data of every page. */

import type { Branding } from './branding.ts'

export interface PageContext {
  /** Name of the realm, used if there is no display name. */
  readonly realm: string
  readonly branding?: Branding | undefined
  /** One of `Pages.locales`; English when absent or unknown. */
  readonly locale?: string | undefined
  /** The languages that the page can be switched to; with less than two there is no switch. */
  readonly locales?: readonly string[] | undefined
  readonly status?: number | undefined
  /**
   * Origins or schemes besides our own that the page's form may lead to. Browsers hold a redirect that
   * follows a form to `form-action` too, so an authorize flow names its client's redirect URI here.
   */
  readonly formTargets?: readonly string[] | undefined
  /** The user is impersonated: each page shows a banner, whose form posts `_csrf` to end it. */
  readonly impersonation?: Impersonation | undefined
}

export interface Impersonation {
  readonly by: string
  readonly username: string
  readonly action: string
  readonly csrf: string
}

export interface FormPage extends PageContext {
  /** Where the forms of the page post `_csrf` and their own fields to. */
  readonly action: string
  readonly csrf: string
}
