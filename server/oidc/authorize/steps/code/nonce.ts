/** The nonce (OIDC Core §3.1.2.1) is in every id token: its length is limited. */

import { invalidRequest } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'

const longest = 512

export const nonce: Step = ({ parameters }) => {
  const value = parameters.get('nonce')
  if (value === undefined) return {}
  if (value.length > longest) throw invalidRequest(`the nonce is longer than ${longest}`)
  return { nonce: value }
}
