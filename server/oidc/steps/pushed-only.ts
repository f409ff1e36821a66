/** A client that must push its requests (RFC 9126 §6) pushed this one. */

import type { Step } from '../authorize-request.ts'
import { invalidRequest } from '../errors.ts'

export const pushedOnly: Step = ({ client, pushed, pushing }) => {
  if (client.doc.requirePar && pushed === undefined && !pushing)
    throw invalidRequest('the client must push its authorization requests')
  return pushed === undefined ? {} : { pushed }
}
