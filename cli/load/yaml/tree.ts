/**
 * The content of a document as a tree whose nodes know their source position. Nodes of one tree may come from several
 * files; a node with aliases is in the tree more than once.
 */

import { type Json, pointerSegment } from '#schemas/json-schema.ts'
import type { Place } from '../../diagnostics.ts'
import type { Part } from '../variables/template.ts'
import type { Source } from './source.ts'

export type Scalar = string | number | boolean | null

export interface ScalarNode {
  readonly type: 'scalar'
  readonly source: Source
  readonly start: number
  readonly end: number
  readonly value: Scalar
  /** A variable that fills it gives it a type: it is not quoted, or stands where YAML asks for the quotes. */
  readonly typed: boolean
  /** Of what a variable filled: the text that gave the value. */
  readonly text?: string
  /** Of text with references that are left when the variables are in their place. */
  readonly template?: readonly Part[]
}

export interface ListNode {
  readonly type: 'list'
  readonly source: Source
  readonly start: number
  readonly items: readonly Node[]
}

export interface MapNode {
  readonly type: 'map'
  readonly source: Source
  readonly start: number
  readonly pairs: ReadonlyMap<string, Pair>
}

/** A value under its key; source and offsets are the key's. */
export interface Pair {
  readonly source: Source
  readonly start: number
  readonly end: number
  readonly value: Node
}

export type Node = ScalarNode | ListNode | MapNode

export const placeOfNode = (node: Node): Place =>
  node.source.placeAt(node.start, node.type === 'scalar' ? node.end : node.start)

export const placeOfKey = (pair: Pair): Place => pair.source.placeAt(pair.start, pair.end)

export const isNull = (node: Node): boolean => node.type === 'scalar' && node.value === null

/** The type of the node in a message: "a list", "text". */
export const describe = (node: Node): string => {
  if (node.type !== 'scalar') return `a ${node.type}`
  if (node.value === null) return 'nothing'
  return { string: 'text', number: 'a number', boolean: 'true or false' }[
    typeof node.value as 'string' | 'number' | 'boolean'
  ]
}

/** The plain value; aliased nodes are copied, so that a change affects one place only. */
export const toJson = (node: Node): Json => {
  if (node.type === 'scalar') return node.value
  if (node.type === 'list') return node.items.map(toJson)
  const value: Record<string, Json> = {}
  for (const [key, pair] of node.pairs) value[key] = toJson(pair.value)
  return value
}

const segmentsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The place of what a JSON pointer names: of its value, or of the key before it. */
export const placeAtPointer = (
  root: Node,
  pointer: string,
  what: 'value' | 'key' = 'value',
): Place | undefined => {
  let node: Node = root
  let pair: Pair | undefined
  for (const segment of segmentsOf(pointer)) {
    pair = node.type === 'map' ? node.pairs.get(segment) : undefined
    const below: Node | undefined =
      node.type === 'list' && /^(0|[1-9]\d*)$/.test(segment)
        ? node.items[Number(segment)]
        : pair?.value
    if (below === undefined) return undefined
    node = below
  }
  return what === 'key' && pair !== undefined ? placeOfKey(pair) : placeOfNode(node)
}

/** Calls `visit` for every scalar, with the JSON pointer to it. */
export const eachScalar = (
  node: Node,
  visit: (scalar: ScalarNode, pointer: string) => void,
  pointer = '',
): void => {
  if (node.type === 'scalar') visit(node, pointer)
  else if (node.type === 'list')
    for (const [i, item] of node.items.entries()) eachScalar(item, visit, `${pointer}/${i}`)
  else
    for (const [key, pair] of node.pairs)
      eachScalar(pair.value, visit, `${pointer}/${pointerSegment(key)}`)
}

/** The same tree with other scalars; what does not change is shared with the old one. */
export const mapScalars = (
  node: Node,
  change: (scalar: ScalarNode, pointer: string) => ScalarNode,
  pointer = '',
): Node => {
  if (node.type === 'scalar') return change(node, pointer)
  if (node.type === 'list') {
    const items = node.items.map((item, i) => mapScalars(item, change, `${pointer}/${i}`))
    return items.every((item, i) => item === node.items[i]) ? node : { ...node, items }
  }
  let changed: Map<string, Pair> | undefined
  for (const [key, pair] of node.pairs) {
    const value = mapScalars(pair.value, change, `${pointer}/${pointerSegment(key)}`)
    if (value === pair.value) continue
    changed ??= new Map(node.pairs)
    changed.set(key, { ...pair, value })
  }
  return changed === undefined ? node : { ...node, pairs: changed }
}
