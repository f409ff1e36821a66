/** A signed authentication request (CIBA Core §7.1.1): it stands alone, and is good once. */

import { ConstraintError, type Storage } from '#server/storage/contract.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import {
  claimedParameters,
  createReadSignedRequest,
  type SignedRequestParts,
} from '../authorize/signed-requests.ts'
import { clientParameters } from '../description.ts'
import { invalidRequest } from '../errors.ts'
import type { Parameters } from '../parameters.ts'

const purpose = 'ciba-request'
const longestId = 255
const beside = new Set(['request', ...Object.keys(clientParameters)])

/** Gives the parameters that count: those of the signed request, where there is one. */
export const createSignedAuthentication = (
  parts: SignedRequestParts & { readonly storage: Storage; readonly grantsStore: GrantsStore },
) => {
  const { storage, grantsStore } = parts
  const read = createReadSignedRequest(parts, {
    // A request object for the browser has them, and may name a user as well: it is no word to ask that user here.
    foreign: ['response_type', 'redirect_uri'],
    algorithm: 'backchannelAuthenticationRequestSigningAlg',
    refused: invalidRequest,
  })

  return async (issuer: Issuer, client: TokenClient, form: Parameters): Promise<Parameters> => {
    const token = form.get('request')
    if (token === undefined && client.doc.requireSignedRequestObject)
      throw invalidRequest('the client must send a signed request: the parameter request')
    if (token === undefined) return form
    for (const name of form.names())
      if (!beside.has(name)) throw invalidRequest(`${name} must be in the signed request`)
    const payload = await read(issuer, client, token)
    const { exp = 0, iat, nbf, jti } = payload
    // jose does not look at the type of `jti`.
    const isId = typeof jti === 'string' && jti !== '' && jti.length <= longestId
    if (iat === undefined || nbf === undefined || !isId)
      throw invalidRequest('the signed request needs iat, nbf and jti')
    try {
      const id = `${client.id} ${jti}`
      await storage.append(grantsStore.once(issuer.name, purpose, id, exp * 1000 + 60_000))
    } catch (error) {
      throw error instanceof ConstraintError
        ? invalidRequest('the signed request was used before')
        : error
    }
    return claimedParameters(payload)
  }
}

export type SignedAuthentication = ReturnType<typeof createSignedAuthentication>
