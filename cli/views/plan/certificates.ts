/** Certificates in a plan: subject, expiry and fingerprint, which a reviewer can compare, instead of base64. */

import { isObject, type JsonSchema } from '#schemas/json-schema.ts'
import { certificateFacts, readCertificate } from '#schemas/public-keys/certificates.ts'
import { propertySchema } from '#schemas/walk.ts'

const shown = (schema: JsonSchema | undefined, value: unknown): unknown => {
  if (schema?.format === 'certificate' && typeof value === 'string') {
    const certificate = readCertificate(value)
    return certificate ? certificateFacts(certificate) : value
  }
  if (Array.isArray(value)) return value.map((item) => shown(schema?.items, item))
  return isObject(value) ? withCertificateFacts(schema ?? {}, value) : value
}

export const withCertificateFacts = (
  schema: JsonSchema,
  doc: Readonly<Record<string, unknown>>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(doc).map(([name, value]) => [name, shown(propertySchema(schema, name), value)]),
  )
