/** The parameters that count: as sent, or of a request object, or of a request that was pushed before. */

import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { invalidRequest, oauthError } from '../../../errors.ts'
import type { Parameters } from '../../../parameters.ts'
import type { SentRequest } from '../../authorize-request.ts'
import { type PushedRequests, pushedPrefix } from '../../pushed-requests.ts'
import type { SignedRequestParts } from '../../signed-requests.ts'
import { createReadRequestObject } from './request-object.ts'

const requestUriNotSupported = oauthError('request_uri_not_supported')
const invalidRequestUri = oauthError('invalid_request_uri')

export interface WholeRequestParts extends SignedRequestParts {
  readonly pushedRequests: Pick<PushedRequests, 'find'>
}

export type WholeRequest = Pick<SentRequest, 'parameters' | 'pushed'>

export const createWholeRequest = (parts: WholeRequestParts) => {
  const readRequestObject = createReadRequestObject(parts)
  return async (issuer: Issuer, client: TokenClient, sent: Parameters): Promise<WholeRequest> => {
    const [object, uri] = [sent.get('request'), sent.get('request_uri')]
    if (object !== undefined && uri !== undefined)
      throw invalidRequest('request and request_uri exclude each other')
    if (object !== undefined) return { parameters: await readRequestObject(issuer, client, object) }
    // A request that was pushed was held to this when it came.
    if (uri === undefined && client.doc.requireSignedRequestObject)
      throw invalidRequest('the client must send a signed request object: the parameter request')
    if (uri === undefined) return { parameters: sent }
    // `request_uri` of any address would allow request forgery by the server (RFC 9101 §10.4).
    if (!uri.startsWith(pushedPrefix))
      throw requestUriNotSupported('only requests that were pushed here may be named')
    const found = await parts.pushedRequests.find(issuer.name, client.id, uri)
    if (!found) throw invalidRequestUri('the request_uri is unknown, expired or was used')
    return { parameters: found.parameters, pushed: found.id }
  }
}
