/** What all edits of a text need: the place of an operation, and where its items begin and end. */

import type { Node, Pair, YAMLMap, YAMLSeq } from 'yaml'
import { Refused } from '../operations.ts'
import { type Cursor, chainOf, placeOf } from './cursor.ts'
import { endOf, endOfPair, rangeOf, type Style } from './syntax.ts'

export type Collection = YAMLMap | YAMLSeq

export const textOf = ({ syntax }: Cursor): string => syntax.source.text
export const styleOf = ({ syntax }: Cursor): Style => syntax.style
export const depthOf = (cursor: Cursor): number => chainOf(cursor).length

export const cannot = (at: Cursor): Refused =>
  new Refused('it is written in a form that is not edited here', placeOf(at))

export const indented = (lines: readonly string[], column: number, eol: string): string =>
  lines.map((line) => eol + (line === '' ? '' : ' '.repeat(column) + line)).join('')

export const startOfItem = (collection: Collection, i: number): number => {
  const item = collection.items[i] as Node | Pair
  return rangeOf(('key' in item ? item.key : item) as Node)[0]
}

export const endOfItem = (collection: Collection, i: number): number => {
  const item = collection.items[i] as Node | Pair
  return 'key' in item ? endOfPair(item) : endOf(item)
}
