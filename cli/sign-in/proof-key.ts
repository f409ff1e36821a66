/**
 * The key that tokens of a sign-in are bound to (RFC 9449): made for it, kept with the tokens, and never sent. Each request
 * carries a proof of it that is good for that request alone.
 */

import { createHash, randomUUID } from 'node:crypto'
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  SignJWT,
} from 'jose'

const alg = 'ES256'

export const newKey = async (): Promise<JWK> => {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  return exportJWK(privateKey)
}

export interface Proven {
  readonly method: string
  /** As the server calls it; its query does not count. */
  readonly address: string
  /** The access token that it goes with. */
  readonly token?: string | undefined
  /** Of the server, where it asked for one. */
  readonly nonce?: string | undefined
}

export interface ProofKey {
  readonly thumbprint: () => Promise<string>
  readonly prove: (request: Proven) => Promise<string>
}

export const openKey = (key: JWK): ProofKey => {
  const { d: _private, ...jwk } = key
  const signer = importJWK(key, alg)
  return {
    thumbprint: () => calculateJwkThumbprint(jwk),
    prove: async ({ method, address, token, nonce }) =>
      new SignJWT({
        htm: method,
        htu: address.split('?', 1)[0],
        jti: randomUUID(),
        ...(nonce === undefined ? {} : { nonce }),
        ...(token === undefined
          ? {}
          : { ath: createHash('sha256').update(token).digest('base64url') }),
      })
        .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk })
        .setIssuedAt()
        .sign(await signer),
  }
}
