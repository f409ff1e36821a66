/** A new field of a map, or new items of a list. All other bytes of the file stay the same. */

import {
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import type { Operation } from '../operations.ts'
import { type Cursor, isInFlow } from './cursor.ts'
import {
  type Collection,
  cannot,
  depthOf,
  endOfItem,
  indented,
  startOfItem,
  styleOf,
  textOf,
} from './edit.ts'
import { behind, isOwnLine, lineEnd, lineStart, type Splice } from './lines.ts'
import {
  flowText,
  type Item,
  itemLines,
  keyText,
  linesBehind,
  listLines,
  literal,
} from './print.ts'
import { replaceInBlock } from './replace.ts'
import { columnAt, dashOf, rangeOf } from './syntax.ts'

/** Between braces: behind so many others. */
const insertInFlow = (at: Cursor, node: Collection, added: string, index: number): Splice[] => {
  const text = textOf(at)
  const { eol } = styleOf(at)
  const depth = depthOf(at) + 1
  const [start, end] = rangeOf(node)
  if (node.items.length === 0) {
    const braces = isMap(node) ? `{ ${added} }` : `[${added}]`
    return [
      {
        start,
        end,
        text: styleOf(at).json ? braces.replace(/^\{ (.*) \}$/s, '{$1}') : braces,
        depth,
      },
    ]
  }
  if (index === 0) {
    const first = startOfItem(node, 0)
    return [{ start: first, end: first, text: `${added}, `, depth }]
  }
  const last = startOfItem(node, index - 1)
  const pos = endOfItem(node, index - 1)
  if (!isOwnLine(text, last)) return [{ start: pos, end: pos, text: `, ${added}`, depth }]
  const line = lineEnd(text, pos)
  const indent = ' '.repeat(columnAt(text, last))
  const rest = text.slice(pos, line)
  const [, comma] = /^[ \t]*(,?)[ \t]*#/.exec(rest) ?? []
  if (comma === undefined) {
    const before = /^[ \t]*,?[ \t]*$/.test(rest) ? `,${eol}${indent}` : ', '
    return [{ start: pos, end: pos, text: before + added, depth }]
  }
  // A comment stays with what it stands behind.
  const below = `${eol}${indent}${added}${comma}`
  return [
    ...(comma === '' ? [{ start: pos, end: pos, text: ',', depth }] : []),
    { start: line, end: line, text: below, depth },
  ]
}

const layoutLike = (text: string, list: YAMLSeq) => {
  const i = list.items.length - 1
  const item = list.items[i] as Node | undefined
  const dash = dashOf(list, i)
  if (item === undefined || dash === undefined) return { gap: ' ', flow: false }
  const between = text.slice(dash + 1, rangeOf(item)[0])
  const gap = /^ +$/.test(between) ? between : ' '
  return { gap, flow: isCollection(item) && item.flow === true }
}

export const insertItem = (at: Cursor, items: readonly Item[], index: number): Splice[] => {
  const list = at.written
  const style = styleOf(at)
  if (!isSeq(list)) throw cannot(at)
  const printed = items.map((item) => ({ ...item, value: literal(item.value) }))
  const isNamed = printed.every(({ value }) => typeof value !== 'object' || value === null)
  if (list.flow && (list.items.length > 0 || isInFlow(at) || isNamed || style.json)) {
    const texts = printed.map(({ value }) => flowText(value, style))
    return insertInFlow(at, list, texts.join(', '), index)
  }
  const text = textOf(at)
  if (list.items.length === 0) {
    return replaceInBlock(at, list, ['', ...listLines(printed, style)])
  }
  const lines = printed.flatMap((item) => itemLines(item, style, layoutLike(text, list)))
  const column = columnAt(text, dashOf(list, 0) ?? 0)
  const depth = depthOf(at) + 1
  if (index === 0) {
    const start = lineStart(text, dashOf(list, 0) ?? 0)
    const above = indented(lines, column, style.eol).slice(style.eol.length) + style.eol
    return [{ start, end: start, text: above, depth }]
  }
  const pos = behind(text, list.items[index - 1] as Node, column)
  return [{ start: pos, end: pos, text: indented(lines, column, style.eol), depth }]
}

/** The last field that comes before it in the order; -1 where there is none. */
const indexBefore = (map: YAMLMap, name: string, order: readonly string[]): number => {
  const rank = order.indexOf(name)
  if (rank === -1) return map.items.length - 1
  return map.items.findLastIndex(({ key }) => {
    const other = isScalar(key) ? order.indexOf(String(key.value)) : -1
    return other !== -1 && other < rank
  })
}

/** Whether sections are set apart by empty lines. */
const isAiry = (text: string, map: YAMLMap): boolean =>
  map.items.slice(1).some((_, i) => {
    const between = text.slice(endOfItem(map, i), startOfItem(map, i + 1))
    return /\n[ \t]*\r?\n/.test(between)
  })

export const insertPair = (operation: Extract<Operation, { type: 'insert-pair' }>): Splice[] => {
  const { at, name, order, items } = operation
  const map = at.written
  const text = textOf(at)
  const style = styleOf(at)
  if (!isMap(map)) throw cannot(at)
  const value = items ? items.map((item) => literal(item.value)) : literal(operation.value)
  const key = keyText(name, style)
  if (map.flow) {
    const pair = `${key}: ${flowText(value, style)}`
    return insertInFlow(at, map as YAMLMap, pair, map.items.length)
  }
  const [first, ...rest] = items
    ? [
        '',
        ...listLines(
          items.map((item) => ({ ...item, value: literal(item.value) })),
          style,
        ),
      ]
    : linesBehind(value, style)
  const lines = [first === '' ? `${key}:` : `${key}: ${first}`, ...rest]
  const column = columnAt(text, startOfItem(map as YAMLMap, 0))
  const depth = depthOf(at) + 1
  let index = indexBefore(map as YAMLMap, name, order)
  const start = lineStart(text, startOfItem(map as YAMLMap, 0))
  if (index === -1 && isOwnLine(text, startOfItem(map as YAMLMap, 0))) {
    const above = indented(lines, column, style.eol).slice(style.eol.length) + style.eol
    return [{ start, end: start, text: above, depth }]
  }
  if (index === -1) index = map.items.length - 1
  const pos = behind(text, map.items[index] as Pair, column)
  const air = at.above === null && isAiry(text, map as YAMLMap) ? style.eol : ''
  return [{ start: pos, end: pos, text: air + indented(lines, column, style.eol), depth }]
}
