/** The algorithms of signatures that are accepted. SHA-1, MD5, HMAC and whatever is not listed here are refused. */

import { type KeyObject, verify } from 'node:crypto'
import { refuse } from './refused.ts'

export const exclusiveC14n = 'http://www.w3.org/2001/10/xml-exc-c14n#'
export const exclusiveC14nWithComments = `${exclusiveC14n}WithComments`
export const envelopedSignature = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'

type Hash = 'sha256' | 'sha384' | 'sha512'

const digestMethods: Readonly<Record<string, Hash>> = {
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#sha384': 'sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
}

const more = 'http://www.w3.org/2001/04/xmldsig-more#'

interface SignatureMethod {
  readonly type: 'rsa' | 'ec'
  readonly hash: Hash
}

const signatureMethods: Readonly<Record<string, SignatureMethod>> = {
  [`${more}rsa-sha256`]: { type: 'rsa', hash: 'sha256' },
  [`${more}rsa-sha384`]: { type: 'rsa', hash: 'sha384' },
  [`${more}rsa-sha512`]: { type: 'rsa', hash: 'sha512' },
  [`${more}ecdsa-sha256`]: { type: 'ec', hash: 'sha256' },
  [`${more}ecdsa-sha384`]: { type: 'ec', hash: 'sha384' },
  [`${more}ecdsa-sha512`]: { type: 'ec', hash: 'sha512' },
}

export const rsaSha256 = `${more}rsa-sha256`
export const sha256 = 'http://www.w3.org/2001/04/xmlenc#sha256'

/** What a realm accepts, for its metadata. */
export const acceptedSignatureMethods: readonly string[] = Object.keys(signatureMethods)
export const acceptedDigestMethods: readonly string[] = Object.keys(digestMethods)

/** NIST SP 800-131A: RSA keys below 2048 bits no longer sign. */
const RSA_BITS = 2048

export const digestMethod = (algorithm: string): Hash =>
  (Object.hasOwn(digestMethods, algorithm) ? digestMethods[algorithm] : undefined) ??
  refuse('algorithm', `the digest algorithm ${algorithm} is not accepted; use SHA-256`)

const signatureMethod = (algorithm: string): SignatureMethod =>
  (Object.hasOwn(signatureMethods, algorithm) ? signatureMethods[algorithm] : undefined) ??
  refuse('algorithm', `the signature algorithm ${algorithm} is not accepted; use rsa-sha256`)

const fits = ({ type }: SignatureMethod, key: KeyObject): boolean =>
  key.asymmetricKeyType === type &&
  (type !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS)

/** How r and s of ECDSA are written: side by side, or in ASN.1. */
export type EcdsaEncoding = 'ieee-p1363' | 'der'

/** XML Signature carries them side by side (RFC 4050 §3.3). */
const inXml: readonly EcdsaEncoding[] = ['ieee-p1363']

/** Keys that are tried for one signature: anybody may send one, and a sender chooses how many keys it has, and how large (CWE-405). */
const mostTried = 20

/** The key that made the signature; the algorithm is checked against the type of each key. */
export const verifiedBy = (
  keys: readonly KeyObject[],
  algorithm: string,
  data: string,
  signature: Buffer,
  encodings = inXml,
): KeyObject => {
  const method = signatureMethod(algorithm)
  const able = keys.filter((key) => fits(method, key))
  if (able.length === 0)
    refuse(
      'algorithm',
      `no signing certificate of the sender fits ${algorithm} (RSA keys need ${RSA_BITS} bits); register one`,
    )
  const bytes = Buffer.from(data)
  const found = able
    .slice(0, mostTried)
    .find((key) =>
      encodings.some((dsaEncoding) => verify(method.hash, bytes, { key, dsaEncoding }, signature)),
    )
  return (
    found ??
    refuse(
      'signature',
      able.length > mostTried
        ? `the signature was made by none of the first ${mostTried} signing certificates of the sender that fit, or its content was changed`
        : 'the signature was made by none of the signing certificates of the sender, or its content was changed',
    )
  )
}
