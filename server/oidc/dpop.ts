/** Proof of possession (RFC 9449) at the token endpoint: the thumbprint of the key that tokens are bound to. */

import type { FastifyRequest } from 'fastify'
import type { TokenClient } from '#server/tokens/client.ts'
import { invalidDpopProof } from './errors.ts'

/** Nothing where the request has no proof and needs none. */
export const provenKey = async (
  { headers }: FastifyRequest,
  { doc }: TokenClient,
): Promise<string | undefined> => {
  if (headers['dpop'] !== undefined || doc.dpopBoundAccessTokens)
    throw invalidDpopProof('proofs of possession are not supported')
  return undefined
}
