/** `login_hint` (OIDC Core §3.1.2.1) is filled into the sign-in form; no user is looked up by it. */

import { printable } from '#server/users/names.ts'
import type { Step } from '../../authorize-request.ts'

export const loginHint: Step = ({ parameters }) => {
  const hint = parameters.get('login_hint')
  return hint === undefined ? {} : { loginHint: printable(hint, 255) }
}
