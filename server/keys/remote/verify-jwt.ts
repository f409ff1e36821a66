/** Verification of JWTs of other parties, with one key or with any of several. */

import {
  type CryptoKey,
  errors,
  type JWTHeaderParameters,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
  type KeyObject,
} from 'jose'
import { isCompactJws } from '#server/platform/base64url.ts'

export type VerifyJwt = (token: string, options: JWTVerifyOptions) => Promise<JWTVerifyResult>

/**
 * Throws an error of `jose`. WebCrypto tells by TypeError and DOMException that a key cannot be read or used: the client
 * brought it, not we. No header of ours is critical (RFC 7515 §4.1.11).
 */
export const verifyWith = async (
  token: string,
  key: JWTVerifyGetKey | CryptoKey | KeyObject,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> => {
  if (!isCompactJws(token)) throw new errors.JWSInvalid('the parts are not plain base64url')
  try {
    const verified = await jwtVerify(token, key as JWTVerifyGetKey, options)
    if ('crit' in verified.protectedHeader) throw new errors.JWSInvalid('crit is not understood')
    return verified
  } catch (cause) {
    if (cause instanceof TypeError || cause instanceof DOMException)
      throw new errors.JWKInvalid('the key cannot be used', { cause })
    throw cause
  }
}

/** Whether it is the keys that were tried: with others the same JWT may be good. */
export const isAboutKeys = (error: unknown): boolean =>
  error instanceof errors.JWSSignatureVerificationFailed ||
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKInvalid

/**
 * Keys that are tried for one JWT. A caller that brings a set of keys, such as a client that registered itself, could otherwise
 * make one request cost a hundred verifications of the most expensive kind (CWE-405).
 */
const mostTried = 10

/** A set may have several keys that fit where the header names none. Throws an error of `jose` where none did sign. */
export const verifyWithAny = async (
  token: string,
  key: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> => {
  try {
    return await verifyWith(token, key, options)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    let tried = 0
    for await (const one of error) {
      if (tried === mostTried)
        throw new errors.JWKSNoMatchingKey(
          `none of the first ${mostTried} keys that fit did sign: name the key by its kid`,
        )
      tried += 1
      try {
        return await verifyWith(token, () => one, options)
      } catch (failure) {
        if (!isAboutKeys(failure)) throw failure
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

/** The media type of a JWT, which may stand with `application/` or without, in any case (RFC 7515 §4.1.9). */
export const typeOf = ({ typ }: JWTHeaderParameters): unknown =>
  typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ
