/** `max_age` (OIDC Core §3.1.2.1) is a number of seconds; without it, that of the client counts (OIDC Registration §2). */

import { invalidRequest } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'

export const maxAge: Step = ({ client, parameters }) => {
  const text = parameters.get('max_age')
  const { defaultMaxAge } = client.doc
  if (text === undefined) return defaultMaxAge === undefined ? {} : { maxAge: defaultMaxAge }
  if (!/^\d{1,10}$/.test(text)) throw invalidRequest('max_age is not a number of seconds')
  return { maxAge: Number(text) }
}
