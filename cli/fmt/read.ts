/** YAML -> the formatter's tree, without comments; `yaml` gives the nodes and where each stands. */

import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Pair,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { isPlain } from './quotes.ts'
import { type Collection, type Entry, type Text, Unformattable, type Value } from './tree.ts'

const rangeOf = (node: { range?: readonly [number, number, number] | null | undefined }) => {
  const { range } = node
  if (!range) throw new Unformattable('a part of it has no place')
  return { start: range[0], end: range[1] }
}

export interface Reader {
  /** The text of the file, with line feeds only. */
  readonly text: string
  readonly document: Document.Parsed
}

const columnAt = ({ text }: Reader, offset: number): number =>
  offset - (text.lastIndexOf('\n', offset - 1) + 1)

const propsOf = (
  { document }: Reader,
  { anchor, tag }: { anchor?: string | undefined; tag?: string | undefined },
  isExplicit: boolean,
): string => {
  const parts = [
    ...(anchor === undefined ? [] : [`&${anchor}`]),
    ...(tag !== undefined && isExplicit ? [document.directives.tagString(tag)] : []),
  ]
  return parts.join(' ')
}

/** Quotes go where the text means itself without; in the braces of a list or map they may be needed, so there too. */
const withoutQuotes = (written: string, { value, type }: Scalar, inFlow: boolean): string => {
  const isQuoted = type === 'QUOTE_SINGLE' || type === 'QUOTE_DOUBLE'
  if (!isQuoted || typeof value !== 'string' || written.includes('\n')) return written
  // A variable gives its type to what is not quoted, and within braces, where quotes cannot be left out, to that too.
  if (value.includes('${')) {
    if (!inFlow) return written
    if (!isPlain(value)) throw new NeedsFlow()
    return value
  }
  return isPlain(value) ? value : written
}

const withoutNeedlessQuotes = (written: string, { value, type }: Scalar): string => {
  const isQuoted = type === 'QUOTE_SINGLE' || type === 'QUOTE_DOUBLE'
  const isFree = typeof value === 'string' && isPlain(value) && !/[,[\]{}]/.test(value)
  return isQuoted && isFree ? value : written
}

/** A list or map in braces that means something else without them. */
class NeedsFlow extends Error {}

const styles: Readonly<Record<string, Text['style']>> = {
  PLAIN: 'plain',
  QUOTE_SINGLE: 'quoted',
  QUOTE_DOUBLE: 'quoted',
  BLOCK_FOLDED: 'block',
  BLOCK_LITERAL: 'block',
}

const textOf = (reader: Reader, node: Scalar, inFlow: boolean): Text => {
  const { start, end } = rangeOf(node)
  const written = reader.text.slice(start, end)
  const props = propsOf(reader, node, node.tag !== undefined)
  const text = props === '' ? withoutQuotes(written, node, inFlow) : written
  const inBraces = props === '' ? withoutNeedlessQuotes(written, node) : written
  const style = styles[node.type ?? ''] ?? 'plain'
  return { type: 'text', text, inBraces, style, props, start, end }
}

const keyOf = (reader: Reader, { key }: Pair, inFlow: boolean): Pick<Entry, 'key' | 'name'> => {
  if (!isScalar(key)) throw new Unformattable('it has keys that are not text')
  const { text, props } = textOf(reader, key, inFlow)
  if (props !== '' || text === '' || text.includes('\n'))
    throw new Unformattable('it has keys with anchors, tags or several lines')
  return { key: text, name: String(key.value) }
}

const entry = (
  reader: Reader,
  start: number,
  value: Value,
  { key, name }: Pick<Entry, 'key' | 'name'>,
): Entry => ({
  key,
  name,
  value,
  leading: [],
  blankBefore: false,
  trailing: null,
  column: columnAt(reader, start),
  start,
})

const emptyText = (at: number): Text => ({
  type: 'text',
  text: '',
  inBraces: '',
  style: 'plain',
  props: '',
  start: at,
  end: at,
})

const mapEntries = (reader: Reader, map: YAMLMap, inFlow: boolean): Entry[] =>
  map.items.map((pair) => {
    const named = keyOf(reader, pair, inFlow)
    const { start, end } = rangeOf(pair.key as Scalar)
    const value = pair.value === null ? emptyText(end) : treeOf(reader, pair.value, inFlow)
    return entry(reader, start, value, named)
  })

/** Where the dash of an item stands; in braces, where the item does. */
const itemStart = (seq: YAMLSeq, i: number, value: Value): number => {
  const token = seq.srcToken
  if (token?.type !== 'block-seq') return value.start
  const dash = token.items[i]?.start.find(({ type }) => type === 'seq-item-ind')
  return dash?.offset ?? value.start
}

const listEntries = (reader: Reader, seq: YAMLSeq, inFlow: boolean): Entry[] =>
  seq.items.map((item, i) => {
    if (isPair(item)) throw new Unformattable('it has a list with keys in it')
    const value = treeOf(reader, item, inFlow)
    return entry(reader, itemStart(seq, i, value), value, { key: null, name: null })
  })

const collectionOf = (reader: Reader, node: YAMLMap | YAMLSeq, inFlow: boolean): Value => {
  const { start, end } = rangeOf(node)
  const flow = node.flow === true
  const props = propsOf(reader, node, node.tag !== undefined)
  try {
    const entries = isMap(node)
      ? mapEntries(reader, node, inFlow || flow)
      : listEntries(reader, node, inFlow || flow)
    const collection: Collection = {
      type: isMap(node) ? 'map' : 'list',
      entries,
      below: [],
      props,
      flow,
      column: entries[0]?.column ?? columnAt(reader, start),
      start,
      end,
    }
    return collection
  } catch (error) {
    // The outermost braces stay, as they are.
    if (!(error instanceof NeedsFlow) || inFlow || !flow) throw error
    const text = reader.text.slice(start, end)
    if (text.includes('\n')) throw new Unformattable('it has a variable in braces over many lines')
    return { type: 'text', text, inBraces: text, style: 'verbatim', props, start, end }
  }
}

export const treeOf = (reader: Reader, node: unknown, inFlow = false): Value => {
  if (isAlias(node)) {
    const { start, end } = rangeOf(node)
    const text = `*${node.source}`
    return { type: 'text', text, inBraces: text, style: 'verbatim', props: '', start, end }
  }
  if (isScalar(node)) return textOf(reader, node, inFlow)
  if (isMap(node) || isSeq(node)) return collectionOf(reader, node, inFlow)
  throw new Unformattable('it holds something else than maps, lists and text')
}
