/** JWTs that a client signed, against the keys that it gave us: any of them may have been used. */

import {
  errors,
  type JWTHeaderParameters,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose'

/** WebCrypto tells by TypeError and DOMException that a key cannot be read or used: the client brought it, not we. */
const verifyWith = async (
  token: string,
  key: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> => {
  try {
    return await jwtVerify(token, key, options)
  } catch (cause) {
    if (cause instanceof TypeError || cause instanceof DOMException)
      throw new errors.JWKInvalid('the key cannot be used', { cause })
    throw cause
  }
}

const isOfOneKey = (error: unknown): boolean =>
  error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKInvalid

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
    for await (const one of error)
      try {
        return await verifyWith(token, () => one, options)
      } catch (failure) {
        if (!isOfOneKey(failure)) throw failure
      }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

/** The media type of a JWT, which may stand with `application/` or without, in any case (RFC 7515 §4.1.9). */
export const typeOf = ({ typ }: JWTHeaderParameters): unknown =>
  typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ
