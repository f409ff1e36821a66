/**
 * A valid body for any kind, made from its schema alone, so that a new kind is tested without a line here. Every
 * call gives another natural key.
 */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { kindNamed } from '#schemas/registry.ts'
import { bodyView } from '#schemas/views.ts'
import { makeCertificate } from '../platform/outgoing/certificates.ts'

const sampleCertificate = makeCertificate(['sp.example'], 2048).certificate

let count = 0

const texts: Readonly<Record<string, (n: number) => string>> = {
  name: (n) => `name-${n}`,
  segment: (n) => `name-${n}`,
  username: (n) => `user-${n}`,
  'https-url': (n) => `https://host-${n}.example/path`,
  'logo-url': () => 'data:image/png;base64,iVBORw0KGgo=',
  'web-url': (n) => `https://host-${n}.example/path`,
  'redirect-uri': (n) => `https://host-${n}.example/callback`,
  origin: (n) => `https://host-${n}.example`,
  color: () => '#00aa55',
  css: () => '.card { border: 0 }',
  email: (n) => `user-${n}@host.example`,
  'logout-url': (n) => `https://host-${n}.example/path`,
  'resource-indicator': (n) => `https://host-${n}.example/path`,
  'resource-uri': (n) => `/resources/${n}/*`,
  'ldap-urls': (n) => `ldaps://host-${n}.example`,
  'sync-interval': (n) => `${n + 5}m`,
  'phc-argon2id': () =>
    '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4',
  'password-hash': () =>
    '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4',
  'realm-name': (n) => `realm-${n}`,
  'date-time': () => '2026-01-01T00:00:00Z',
  'time-span': () => '90d',
  'time-zone': () => 'Europe/Amsterdam',
  'mail-domain': (n) => `host-${n}.example`,
  'relying-party': (n) => `party-${n}.example`,
  'metadata-document': (n) => `https://host-${n}.example/client.json`,
  'name-id-format': () => 'persistent',
  'saml-endpoint': (n) => `https://host-${n}.example/path`,
  'saml-binding': () => 'HTTP-POST',
  certificate: () => sampleCertificate,
  uuid: () => '00000000-0000-7000-8000-000000000000',
  'event-types': () => 'LOGIN_SUCCESS,ADMIN_*',
}

const patterns: Readonly<Record<string, string>> = {
  '^[a-z]{2,3}$': 'en',
  '^(https?://.+)?$': 'https://audit.example/events',
  '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$': 'nl',
}

/** The same for the same number; where a schema leaves the choice, another one for another number. */
export const sampleNumbered = (schema: JsonSchema, n: number): unknown => {
  const type = [schema.type].flat().find((one) => one !== 'null')
  if (schema.enum) return schema.enum.find((value) => value !== null)
  if (type === 'string') {
    if (schema.format) return texts[schema.format]?.(n) ?? `text-${n}`
    if (typeof schema['pattern'] === 'string') return patterns[schema['pattern']] ?? `text-${n}`
    return `text-${n}`.padEnd(Number(schema['minLength'] ?? 0), 'x')
  }
  if (type === 'boolean') return !schema.default
  if (type === 'integer') return schema.default ?? schema['minimum'] ?? 1
  if (type === 'array')
    return schema.items?.['x-ref'] || (schema.items?.properties && !schema['minItems'])
      ? []
      : [sampleNumbered(schema.items ?? {}, n)]
  if (!schema.properties) return {}
  return objectOf(schema, n, () => true)
}

const objectOf = (
  schema: JsonSchema,
  n: number,
  wanted: (name: string, schema: JsonSchema) => boolean,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {})
      .filter(([name, inner]) => schema.required?.includes(name) || wanted(name, inner))
      .map(([name, inner]) => [name, sampleNumbered(inner, n)]),
  )

/** A value that a schema accepts, with what must be given and nothing else. */
export const sampleOf = (schema: JsonSchema): unknown => {
  const [alternative] = schema.oneOf ?? []
  if (alternative) return sampleOf(alternative)
  count += 1
  return schema.properties ? objectOf(schema, count, () => false) : sampleNumbered(schema, count)
}

/** Only what must be given; where fields must agree with each other, as the kind's example has them. */
export const leastBody = (kind: Kind): Record<string, unknown> => {
  const keys = new Set(kind.keyFields)
  const [example = {}] = kind.spec.examples ?? []
  const agreeing = Object.entries(example).filter(
    ([name]) => !keys.has(name) || kind.shape === 'upsert',
  )
  return {
    ...(sampleOf(bodyView(kind)) as Record<string, unknown>),
    ...Object.fromEntries(agreeing),
  }
}

/** The same, with a document behind every reference that must be given. */
export const bodyWithReferences = async (
  kind: Kind,
  create: (kind: Kind) => Promise<string>,
): Promise<Record<string, unknown>> => {
  const body = leastBody(kind)
  for (const [name, schema] of Object.entries(bodyView(kind).properties ?? {})) {
    const mark = schema['x-ref']
    if (mark && name in body) body[name] = await create(kindNamed(mark.kind))
  }
  return body
}
