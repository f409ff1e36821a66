/**
 * What was sent is remembered as a digest per attribute: enough to find what changed, and nothing personal that an erasure would
 * have to look for.
 */

import { createHash } from 'node:crypto'

export type Digests = Readonly<Record<string, string>>

/** Members in a fixed order, so that the same value has the same digest. */
const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, one]) => [name, canonical(one)]))
}

export const digestOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(canonical(value)))
    .digest('base64url')
    .slice(0, 16)

const partsOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []

/** Of each attribute, and of each part of one (`name.familyName`): parts are cleared one by one (RFC 7644 §3.5.2.3). */
export const digestsOf = (attributes: Readonly<Record<string, unknown>>): Digests =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]) => [
      [key, digestOf(value)],
      ...partsOf(value).map(([part, inner]) => [`${key}.${part}`, digestOf(inner)]),
    ]),
  )

/** Of the name of a group, as its row has it. */
export const groupNameDigest = (displayName: string): string =>
  JSON.stringify(digestsOf({ displayName }))
