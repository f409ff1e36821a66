/** The keys of which one must have signed the metadata of an entity: that of its `metadataCertificate`. */

import type { KeyObject } from 'node:crypto'
import { readCertificate } from '#schemas/public-keys/certificates.ts'

/** None are needed without a certificate; one that cannot be read must not mean the same, so that no key will do. */
export const metadataKeys = (certificate: string | undefined): KeyObject[] | undefined => {
  if (certificate === undefined) return undefined
  const key = readCertificate(certificate)?.publicKey
  return key ? [key] : []
}
