/** Only codes: no token travels through a browser's address bar (RFC 9700 §2.1.2). */

import { oauthError } from '../../../errors.ts'
import { responseTypes } from '../../../vocabulary.ts'
import type { Step } from '../../authorize-request.ts'

const unsupportedResponseType = oauthError('unsupported_response_type')

export const responseType: Step = ({ parameters }) => {
  const type = parameters.require('response_type')
  if (!responseTypes.some((one) => one === type))
    throw unsupportedResponseType('the response_type must be code')
  return {}
}
