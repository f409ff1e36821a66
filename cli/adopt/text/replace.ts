/** Another value in the place of one, or of an alias. All other bytes of the file stay the same. */

import {
  type Alias,
  isAlias,
  isCollection,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  Scalar,
} from 'yaml'
import { type Cursor, isInFlow } from './cursor.ts'
import { cannot, depthOf, indented, styleOf, textOf } from './edit.ts'
import { behind, isOwnLine, lineEnd, lineStart, type Splice } from './lines.ts'
import { flowText, linesBehind, literal } from './print.ts'
import { behindColon, columnAt, dashOf, endOf, rangeOf } from './syntax.ts'

/** The column from which lines below a value are indented, and what the value follows: a colon or a dash. */
const slotOf = (at: Cursor): { readonly column: number; readonly head: number } => {
  const { above } = at
  if (above?.pair) {
    const head = behindColon(above.pair)
    if (head === undefined) throw cannot(at)
    return { column: columnAt(textOf(at), rangeOf(above.pair.key as Node)[0]), head }
  }
  const list = above?.cursor.node
  const dash = isSeq(list) && above ? dashOf(list, above.index) : undefined
  if (dash === undefined) throw cannot(at)
  return { column: columnAt(textOf(at), dash), head: dash + 1 }
}

/** A tag says what the old value was. */
const startOf = (text: string, node: Node): number => {
  const [start] = rangeOf(node)
  const tag = /!\S*[ \t]+$/.exec(text.slice(lineStart(text, start), start))
  return tag ? start - tag[0].length : start
}

const isEmpty = (node: Node): boolean => isScalar(node) && (node as Scalar).source === ''

/** Puts lines in the place of a value in block style: the first behind its key, the others below. */
export const replaceInBlock = (at: Cursor, node: Node, lines: readonly string[]): Splice[] => {
  const text = textOf(at)
  const { eol } = styleOf(at)
  const { column, head } = slotOf(at)
  // It is inside of what is added behind it on the same line.
  const depth = depthOf(at) + 1
  const [first = '', ...others] = lines
  const rest = indented(others, column, eol)
  const space = first === '' ? '' : ' '
  if (isEmpty(node)) {
    const end = lineEnd(text, head)
    return others.length === 0
      ? [{ start: head, end: head, text: space + first, depth }]
      : [
          { start: head, end: head, text: space + first, depth },
          { start: end, end, text: rest, depth },
        ]
  }
  const start = startOf(text, node)
  const until = endOf(node)
  if (isCollection(node) && !node.flow) {
    // What stands behind the key stays there; the lines below go.
    const end = behind(text, node)
    if (isOwnLine(text, start)) {
      const key = lineEnd(text, head)
      return [
        { start: head, end: head, text: space + first, depth },
        { start: key, end, text: rest, depth },
      ]
    }
    return [{ start, end, text: first + rest, depth }]
  }
  const isBlock = isScalar(node) && /^BLOCK/.test(String((node as Scalar).type))
  if (isBlock) return [{ start, end: behind(text, node), text: first + rest, depth }]
  if (first !== '' && others.length === 0) return [{ start, end: until, text: first, depth }]
  // A comment stays on the line of the key.
  const end = lineEnd(text, until)
  const from = first === '' ? head : start
  return [
    { start: from, end: until, text: first, depth },
    { start: end, end, text: rest, depth },
  ]
}

export const replace = (at: Cursor, value: unknown): Splice[] => {
  const node = at.written
  if (node === null) throw cannot(at)
  const style = styleOf(at)
  const kept = isScalar(node) && typeof value === 'string' ? (node as Scalar).type : undefined
  const type = kept && !isEmpty(node) ? (kept as Scalar.Type) : undefined
  const printed = literal(value)
  if (isInFlow(at)) {
    const flow = flowText(printed, style, type)
    const { head } = isEmpty(node) ? slotOf(at) : { head: 0 }
    const [start, end] = isEmpty(node)
      ? [head, head]
      : [startOf(textOf(at), node), rangeOf(node)[1]]
    return [{ start, end, text: isEmpty(node) ? ` ${flow}` : flow, depth: depthOf(at) }]
  }
  const isFlow = isCollection(node) && node.flow === true
  const lines = isFlow && !isScalar(value) ? [flowText(printed, style)] : undefined
  return replaceInBlock(at, node, lines ?? linesBehind(printed, style, type))
}

/** What an alias repeats, as if it had been written there; comments stay where they are. */
const copyOf = (node: Node, inFlow: boolean): Node => {
  const copy = node.clone() as Node
  const strip = (one: unknown): void => {
    if (one instanceof Scalar || isCollection(one)) {
      delete (one as { anchor?: string }).anchor
      one.comment = null
      one.commentBefore = null
      one.spaceBefore = false
    }
    if (!isCollection(one)) return
    if (inFlow) one.flow = true
    for (const item of one.items as (Node | Pair)[])
      if ('key' in item) {
        strip(item.key)
        strip(item.value)
      } else strip(item)
  }
  strip(copy)
  return copy
}

export const expand = (at: Cursor): Splice[] => {
  const alias = at.written
  if (!isAlias(alias) || at.node === null) throw cannot(at)
  const [start, end] = rangeOf(alias as Alias)
  const inFlow = isInFlow(at)
  const copy = copyOf(at.node, inFlow)
  const isShort = inFlow || (isCollection(copy) ? copy.flow === true : true)
  if (isShort) return [{ start, end, text: flowText(copy, styleOf(at)), depth: depthOf(at) }]
  if (at.above?.pair) return replaceInBlock(at, alias as Alias, linesBehind(copy, styleOf(at)))
  return [{ start, end, text: flowText(copyOf(at.node, true), styleOf(at)), depth: depthOf(at) }]
}
