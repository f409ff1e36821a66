/** Certificates in a plan: subject, expiry and fingerprint, which a reviewer can compare, instead of base64. */

import { isObject, type JsonSchema } from '#schemas/json-schema.ts'
import {
  type CertificateFacts,
  certificateFacts,
  readCertificate,
} from '#schemas/public-keys/certificates.ts'
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

/** The schema of the value that a pointer leads to; of a list, that of its items. */
const schemaAt = (schema: JsonSchema, pointer: string): JsonSchema | undefined => {
  const found = pointer
    .split('/')
    .slice(1)
    .reduce<JsonSchema | undefined>(
      (inner, name) => inner && (inner.items ?? propertySchema(inner, name)),
      schema,
    )
  return found?.items ?? found
}

/** What the value at a pointer is about, where it is a certificate. */
export const certificateAt = (
  schema: JsonSchema,
  pointer: string,
  value: unknown,
): CertificateFacts | undefined => {
  if (typeof value !== 'string' || schemaAt(schema, pointer)?.format !== 'certificate')
    return undefined
  const certificate = readCertificate(value)
  return certificate && certificateFacts(certificate)
}

/** On one line. */
export const certificateText = ({ subject, expires, sha256 }: CertificateFacts): string =>
  `${subject}, expires ${expires}, SHA-256 ${sha256}`
