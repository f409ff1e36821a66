/** The self-signed X.509 certificate of a signing key, as SAML metadata carries it. */

import 'reflect-metadata'
import type { webcrypto } from 'node:crypto'
import { X509CertificateGenerator } from '@peculiar/x509'
import { newId } from '#server/platform/ids.ts'

const years = 10

/** Base64 of the DER. */
export const certify = async (
  realm: string,
  keys: webcrypto.CryptoKeyPair,
  signingAlgorithm: { readonly name: string; readonly hash: string },
  now: number,
): Promise<string> => {
  const notAfter = new Date(now)
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + years)
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newId().replaceAll('-', ''),
    name: [{ CN: [realm] }],
    // A clock that is a little behind must not refuse a key made this moment.
    notBefore: new Date(now - 300_000),
    notAfter,
    signingAlgorithm,
    keys,
  })
  return Buffer.from(certificate.rawData).toString('base64')
}
