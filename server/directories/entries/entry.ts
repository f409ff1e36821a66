/** An entry of a directory: values by the name of their attribute, whose case means nothing (RFC 4512 §2.5). */

import { isUtf8 } from 'node:buffer'
import { type BerReader, types } from '../connection/ber.ts'

export interface Entry {
  readonly dn: string
  /** Values as text; bytes that are no UTF-8 are left out. */
  values(attribute: string): readonly string[]
  first(attribute: string): string | undefined
  bytes(attribute: string): Buffer | undefined
  /** Names of the attributes, with their options, in lower case. */
  readonly names: readonly string[]
}

/** Where the values of an attribute are: the beginning and the end of each. */
const placesIn = (reader: BerReader): number[] => {
  const end = reader.enter(types.set)
  const places: number[] = []
  while (reader.at < end) {
    const last = reader.enter(types.octetString)
    places.push(reader.at, last)
    reader.at = last
  }
  return places
}

/** Reads a SearchResultEntry (RFC 4511 §4.5.2). Values become text when they are asked for. */
export const entryIn = (message: Buffer, reader: BerReader): Entry => {
  reader.enter(types.searchEntry)
  const dn = reader.text()
  const end = reader.enter(types.sequence)
  const names: string[] = []
  const places: (readonly number[])[] = []
  while (reader.at < end) {
    reader.enter(types.sequence)
    names.push(reader.text().toLowerCase())
    places.push(placesIn(reader))
  }
  const placesOf = (attribute: string): readonly number[] =>
    places[names.indexOf(attribute.toLowerCase())] ?? []
  const textAt = (from: number, to: number): string | undefined => {
    const text = message.toString('utf8', from, to)
    if (text.trim() === '') return undefined
    return text.includes('\uFFFD') && !isUtf8(message.subarray(from, to)) ? undefined : text
  }
  const values = (attribute: string): string[] => {
    const own = placesOf(attribute)
    const texts: string[] = []
    for (let i = 0; i < own.length; i += 2) {
      const text = textAt(own[i] ?? 0, own[i + 1] ?? 0)
      if (text !== undefined) texts.push(text)
    }
    return texts
  }
  return {
    dn,
    names,
    values,
    first: (attribute) => values(attribute)[0],
    bytes: (attribute) => {
      const [from, to] = placesOf(attribute)
      return from === undefined ? undefined : message.subarray(from, to)
    },
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

/** What names the entry for as long as it exists, through renames and moves; undefined where it has none. */
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
