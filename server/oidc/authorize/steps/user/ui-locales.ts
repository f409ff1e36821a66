/** `ui_locales` (OIDC Core §3.1.2.1): languages in the order of preference; what is not offered is passed over. */

import type { Step } from '../../authorize-request.ts'

export const uiLocales: Step = ({ parameters }) => {
  const tags = (parameters.get('ui_locales') ?? '').split(' ', 20)
  const locales = tags.filter((tag) => /^[A-Za-z0-9-]{1,35}$/.test(tag))
  return locales.length === 0 ? {} : { locales: locales.join(',') }
}
