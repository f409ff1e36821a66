/** A realm file as it is written: its documents as `yaml` reads them, and the habits of its author. */

import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseAllDocuments,
  type Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import type { Source } from '../../load/yaml/source.ts'

export interface Style {
  /** How many spaces a level is indented by. */
  readonly step: number
  /** Whether the dashes of a list stand further right than its key. */
  readonly indentLists: boolean
  readonly singleQuotes: boolean
  /** Whether lists of names are written in brackets. */
  readonly flowLists: boolean
  readonly eol: string
  readonly json: boolean
}

/** An alias, and the map that it is merged into, if it stands behind `<<`. */
export interface Use {
  readonly alias: Alias
  readonly into: YAMLMap | null
}

export interface DocumentSyntax {
  readonly source: Source
  readonly style: Style
  readonly document: Document.Parsed
  readonly root: YAMLMap
  readonly uses: readonly Use[]
}

export type Written = Node

export const columnAt = (text: string, offset: number): number =>
  offset - (text.lastIndexOf('\n', offset - 1) + 1)

export const rangeOf = (node: Node): readonly [number, number] => {
  if (!node.range) throw new RangeError('a part of a file has no place')
  return [node.range[0], node.range[1]]
}

const tokensOf = (node: YAMLSeq, i: number) => {
  const token = node.srcToken
  return token?.type === 'block-seq' ? (token.items[i]?.start ?? []) : []
}

/** Where the dash of an item stands; undefined in brackets. */
export const dashOf = (list: YAMLSeq, i: number): number | undefined =>
  tokensOf(list, i).find(({ type }) => type === 'seq-item-ind')?.offset

/** One behind the colon; undefined where there is none. */
export const behindColon = (pair: Pair): number | undefined => {
  const colon = pair.srcToken?.sep?.find(({ type }) => type === 'map-value-ind')
  return colon && colon.offset + colon.source.length
}

/** Whether it is written with `?`. */
export const isExplicit = (pair: Pair): boolean =>
  pair.srcToken?.start.some(({ type }) => type === 'explicit-key-ind') === true

const isMerge = ({ key }: Pair): boolean => isScalar(key) && key.value === '<<'

const usesIn = (document: Document.Parsed): Use[] => {
  const uses: Use[] = []
  visit(document, {
    Alias: (_, alias, path) => {
      const at = path.findLastIndex(isPair)
      const pair = path[at]
      const map = path[at - 1]
      uses.push({ alias, into: isPair(pair) && isMerge(pair) && isMap(map) ? map : null })
    },
  })
  return uses
}

const habitsOf = (text: string, documents: readonly Document.Parsed[]) => {
  const steps: number[] = []
  const lists: boolean[] = []
  const quotes = { single: 0, double: 0 }
  let flowLists = false
  const visitPair = (pair: Pair): void => {
    const { key, value } = pair
    if (!isScalar(key) || !isCollection(value) || value.flow || !value.range) return
    const from = columnAt(text, rangeOf(key)[0])
    const to = columnAt(text, value.range[0])
    if (isSeq(value)) lists.push(to > from)
    if (to > from) steps.push(to - from)
  }
  for (const document of documents)
    visit(document, {
      Pair: (_, pair) => visitPair(pair),
      Seq: (_, list) => {
        if (list.flow && list.items.length > 0 && list.items.every(isScalar)) flowLists = true
      },
      Scalar: (_, { type }) => {
        if (type === 'QUOTE_SINGLE') quotes.single += 1
        if (type === 'QUOTE_DOUBLE') quotes.double += 1
      },
    })
  return {
    step: steps[0] ?? 2,
    indentLists: lists[0] ?? true,
    singleQuotes: quotes.single > quotes.double,
    flowLists,
  }
}

/** The documents of a file that hold something, in their order. */
export const syntaxOf = (source: Source): DocumentSyntax[] => {
  const { text } = source
  const parsed = parseAllDocuments(text, {
    keepSourceTokens: true,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  const documents = Array.isArray(parsed) ? parsed : []
  const style: Style = {
    ...habitsOf(text, documents),
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    json: source.file.endsWith('.json'),
  }
  return documents.flatMap((document) => {
    const root = document.contents
    return isMap(root)
      ? [{ source, style, document, root: root as YAMLMap, uses: usesIn(document) }]
      : []
  })
}

/** One behind the last character of what is written, without a comment behind it. */
export const endOf = (node: Node): number => {
  const [, end] = rangeOf(node)
  if (isScalar(node) || isAlias(node) || (isCollection(node) && node.flow)) return end
  const last = isCollection(node) ? node.items.at(-1) : undefined
  if (isPair(last)) return endOfPair(last)
  return last === undefined ? end : endOf(last as Node)
}

export const endOfPair = (pair: Pair): number => {
  const value = pair.value as Node | null
  const isEmpty = value === null || (isScalar(value) && (value as Scalar).source === '')
  return isEmpty ? (behindColon(pair) ?? rangeOf(pair.key as Node)[1]) : endOf(value as Node)
}
