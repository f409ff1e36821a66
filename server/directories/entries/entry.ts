/** An entry of a directory: values by the name of their attribute, whose case means nothing (RFC 4512 §2.5). */

import type { SearchEntry } from 'ldapts'

export interface Entry {
  readonly dn: string
  /** Values as text; bytes that are no UTF-8 are left out. */
  values(attribute: string): readonly string[]
  first(attribute: string): string | undefined
  bytes(attribute: string): Buffer | undefined
  /** Names of the attributes, with their options, in lower case. */
  readonly names: readonly string[]
}

export const entryOf = (found: SearchEntry): Entry => {
  const byName = new Map(found.attributes.map((one) => [one.type.toLowerCase(), one]))
  const values = (attribute: string): string[] =>
    (byName.get(attribute.toLowerCase())?.values ?? ([] as unknown[])).filter(
      (value): value is string => typeof value === 'string' && value.trim() !== '',
    )
  return {
    dn: found.name,
    values,
    first: (attribute) => values(attribute)[0],
    bytes: (attribute) => byName.get(attribute.toLowerCase())?.parsedBuffers[0],
    names: [...byName.keys()],
  }
}

/** Active Directory stores GUIDs as bytes, the first three parts little-endian (MS-DTYP §2.3.4.2). */
const guidOf = (bytes: Buffer): string => {
  const part = (from: number, to: number, isSwapped: boolean): string => {
    const slice = Buffer.from(bytes.subarray(from, to))
    return (isSwapped ? slice.reverse() : slice).toString('hex')
  }
  return [
    part(0, 4, true),
    part(4, 6, true),
    part(6, 8, true),
    part(8, 10, false),
    part(10, 16, false),
  ].join('-')
}

/** What names the entry for as long as it exists, through renames and moves; nothing where it has none. */
export const stableIdOf = (entry: Entry, attribute: string): string | undefined => {
  const bytes = entry.bytes(attribute)
  if (bytes === undefined || bytes.length === 0) return undefined
  if (attribute.toLowerCase() === 'objectguid')
    return bytes.length === 16 ? guidOf(bytes) : undefined
  const text = entry.first(attribute)?.trim().toLowerCase()
  return text === undefined || text.length > 255 ? undefined : text
}

/** The value to search a stable id by. */
export const idValueOf = (attribute: string, id: string): string | Buffer => {
  if (attribute.toLowerCase() !== 'objectguid') return id
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
  for (const [from, to] of [
    [0, 4],
    [4, 6],
    [6, 8],
  ] as const)
    bytes.subarray(from, to).reverse()
  return bytes
}
