/** The client is registered for the authorization code grant. */

import { unauthorizedClient } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'

export const codeAllowed: Step = ({ client }) => {
  if (!client.doc.grantTypes.includes('authorization_code'))
    throw unauthorizedClient('the client may not use the authorization code grant')
  return {}
}
