/** A client that must push its requests (RFC 9126 §6) pushed this one. */

import { invalidRequest } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'

export const pushedOnly: Step = ({ client, pushed, pushing }) => {
  if (client.doc.requirePar && pushed === undefined && !pushing)
    throw invalidRequest('the client must push its authorization requests')
  return pushed === undefined ? {} : { pushed }
}
