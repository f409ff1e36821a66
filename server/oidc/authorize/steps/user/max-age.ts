/** `max_age` (OIDC Core §3.1.2.1) is a number of seconds. */

import { invalidRequest } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'

export const maxAge: Step = ({ parameters }) => {
  const text = parameters.get('max_age')
  if (text === undefined) return {}
  if (!/^\d{1,10}$/.test(text)) throw invalidRequest('max_age is not a number of seconds')
  return { maxAge: Number(text) }
}
