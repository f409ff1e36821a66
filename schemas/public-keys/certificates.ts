/** X.509 certificates as documents hold them: read, judged, and named by what a person can compare. */

import { X509Certificate } from 'node:crypto'
import { keyObjectFault, type PublicKeyFault } from './public-keys.ts'

/** In base64: a key and a signature alone are longer. To try a hundred thousand texts that are shorter takes seconds. */
const leastLength = 128

/** Exactly one: of several it would be unclear which is trusted. Undefined where the text is none. */
export const readCertificate = (value: string): X509Certificate | undefined => {
  const text = value.trim()
  if (text.length < leastLength) return undefined
  const isPem = /^-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----$/.test(text)
  if (!isPem && !/^[A-Za-z0-9+/\s]+={0,2}$/.test(text)) return undefined
  try {
    const certificate = new X509Certificate(isPem ? text : Buffer.from(text, 'base64'))
    return certificate.raw.length > 0 ? certificate : undefined
  } catch {
    return undefined
  }
}

/** What is wrong with its key: RSA of 2048 bits at least, or an elliptic curve. */
export const certificateFault = (certificate: X509Certificate): PublicKeyFault | undefined => {
  // Each use of the getter makes a new key.
  const { publicKey } = certificate
  const type = publicKey.asymmetricKeyType
  if (type !== 'rsa' && type !== 'ec')
    return { code: 'unusable-key', message: `has a key of type ${type}: it must be RSA or EC` }
  return keyObjectFault(publicKey)
}

/** What a person can compare: whose it is, until when it is valid, and its fingerprint. */
export interface CertificateFacts {
  readonly subject: string
  readonly expires: string
  readonly sha256: string
}

export const certificateFacts = ({
  subject,
  validToDate,
  fingerprint256,
}: X509Certificate): CertificateFacts => ({
  subject: (subject ?? '').replaceAll('\n', ', '),
  expires: validToDate.toISOString().slice(0, 10),
  sha256: fingerprint256,
})
