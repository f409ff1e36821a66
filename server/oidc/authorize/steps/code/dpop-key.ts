/** `dpop_jkt` (RFC 9449 §10): the thumbprint of the key that the code is bound to. */

import { isBase64url } from '#server/platform/base64url.ts'
import { invalidRequest } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'

export const dpopKey: Step = ({ parameters }) => {
  const jkt = parameters.get('dpop_jkt')
  if (jkt === undefined) return {}
  if (jkt.length !== 43 || !isBase64url(jkt)) throw invalidRequest('dpop_jkt is not a thumbprint')
  return { dpopJkt: jkt }
}
