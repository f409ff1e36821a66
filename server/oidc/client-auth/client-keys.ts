/** The public keys of a client, for what it signs: `jwks` of its document, or what its `jwksUri` answers. */

import { createLocalJWKSet, errors, type JSONWebKeySet } from 'jose'
import { isFapi } from '#schemas/access/client-profile.ts'
import { createRemoteKeys, usualBounds } from '#server/keys/remote/remote-keys.ts'
import { type VerifyJwt, verifyWithAny } from '#server/keys/remote/verify-jwt.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { TokenClient } from '#server/tokens/client.ts'

/**
 * Without RSASSA-PKCS1-v1_5 for clients under a FAPI profile (FAPI 2.0 §5.4.1), and the registered one alone where there is one (OIDC
 * Registration §2).
 */
export const signingAlgorithmsFor = <Algorithm extends string>(
  { doc }: TokenClient,
  algorithms: readonly Algorithm[],
  registered?: string,
): Algorithm[] =>
  algorithms.filter((one) => (one !== 'RS256' || !isFapi(doc)) && one === (registered ?? one))

/** A client may rotate, and sign with the new key, right after its keys were fetched (OIDC Core §10.1.1). */
const bounds = { ...usualBounds, mostInARow: 4 }

/** Verifies what a client signed. Throws an error of `jose` where no key of the client did, or one of the guarded client. */
export type ClientKeys = (client: TokenClient) => VerifyJwt

export const createClientKeys = ({
  outgoing,
  clock,
}: {
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly clock: Clock
}): ClientKeys => {
  const remote = createRemoteKeys({ outgoing, clock, bounds })

  return ({ doc: { jwks, jwksUri } }) => {
    if (jwks)
      return async (token, options) =>
        verifyWithAny(token, createLocalJWKSet(jwks as unknown as JSONWebKeySet), options)
    if (jwksUri !== undefined) return remote(jwksUri)
    return async () => {
      throw new errors.JWKSNoMatchingKey('the client has no keys')
    }
  }
}
