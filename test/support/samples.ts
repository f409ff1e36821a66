/**
 * A valid body for any kind, made from its schema alone, so that a new kind is tested without a line here. Every
 * call gives another natural key.
 */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { bodyView } from '#schemas/views.ts'

let count = 0

const texts: Readonly<Record<string, (n: number) => string>> = {
  name: (n) => `name-${n}`,
  segment: (n) => `name-${n}`,
  username: (n) => `user-${n}`,
  'https-url': (n) => `https://host-${n}.example/path`,
  'web-url': (n) => `https://host-${n}.example/path`,
  'redirect-uri': (n) => `https://host-${n}.example/callback`,
  origin: (n) => `https://host-${n}.example`,
  color: () => '#00aa55',
  css: () => '.card { border: 0 }',
  email: (n) => `user-${n}@host.example`,
  regex: () => '^.+$',
  'event-types': () => 'LOGIN_SUCCESS,ADMIN_*',
}

const patterns: Readonly<Record<string, string>> = {
  '^[a-z]{2,3}$': 'en',
  '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$': 'nl',
}

const sample = (schema: JsonSchema, n: number): unknown => {
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
    return schema.items?.['x-ref'] || schema.items?.properties
      ? []
      : [sample(schema.items ?? {}, n)]
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
      .map(([name, inner]) => [name, sample(inner, n)]),
  )

/** Only what must be given. */
export const leastBody = (kind: Kind): Record<string, unknown> => {
  count += 1
  return objectOf(bodyView(kind), count, () => false)
}

const meaningless = (schema: JsonSchema): boolean =>
  schema['x-ref'] !== undefined ||
  schema['x-only'] !== undefined ||
  [schema.type].flat()[0] === 'object'

/** Every simple field that does not name another document, with a value that is not its default. */
export const fullBody = (
  kind: Kind,
  overrides: Record<string, unknown> = {},
): Record<string, unknown> => {
  count += 1
  return {
    ...objectOf(bodyView(kind), count, (_, schema) => !meaningless(schema)),
    ...overrides,
  }
}
