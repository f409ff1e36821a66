/** Signing algorithms: RS256 and PS256 (RFC 7518 §3.3, §3.5), both with the same RSA key. */

import { constants, type KeyObject } from 'node:crypto'

export const signingAlgorithms = ['RS256', 'PS256'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

/** Of both. */
export const digest = 'sha256'

/** For RS256 the key as it is, which costs a fifth of what a key with options does. */
export const padded = (algorithm: SigningAlgorithm, key: KeyObject) =>
  algorithm === 'RS256'
    ? key
    : {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      }
