/** A request object (RFC 9101): the parameters as claims that the client signed. */

import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { oauthError } from '../../../errors.ts'
import type { Parameters } from '../../../parameters.ts'
import {
  claimedParameters,
  createReadSignedRequest,
  type SignedRequestParts,
} from '../../signed-requests.ts'

const invalidRequestObject = oauthError('invalid_request_object')

export const createReadRequestObject = (parts: SignedRequestParts) => {
  const read = createReadSignedRequest(parts, {
    foreign: [],
    algorithm: 'requestObjectSigningAlg',
    refused: invalidRequestObject,
  })
  return async (issuer: Issuer, client: TokenClient, token: string): Promise<Parameters> => {
    const payload = await read(issuer, client, token)
    if (payload['client_id'] !== client.clientId)
      throw invalidRequestObject('the client_id of the request object is another')
    return claimedParameters(payload)
  }
}
