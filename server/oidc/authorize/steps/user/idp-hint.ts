/**
 * `kc_idp_hint`, as Keycloak names it: the identity provider that the browser is sent to at once. One that the realm does not
 * offer for sign-ins changes nothing, and the sign-in page is shown.
 */

import { printable } from '#server/users/names.ts'
import type { Step } from '../../authorize-request.ts'

export const idpHint: Step = ({ parameters }) => {
  const alias = parameters.get('kc_idp_hint')
  return alias === undefined ? {} : { provider: printable(alias, 255) }
}
