/** Operations -> splices of a text. All other bytes of the file stay the same. */

import {
  type Alias,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { type Operation, Refused } from '../operations.ts'
import { type Cursor, chainOf, isInFlow, placeOf } from './cursor.ts'
import { behind, inOrder, isOwnLine, lineEnd, lineStart, type Splice, wholeLines } from './lines.ts'
import {
  flowText,
  type Item,
  itemLines,
  keyText,
  linesBehind,
  listLines,
  literal,
} from './print.ts'
import { behindColon, columnAt, dashOf, endOf, endOfPair, rangeOf, type Style } from './syntax.ts'

type Collection = YAMLMap | YAMLSeq

const textOf = ({ syntax }: Cursor): string => syntax.source.text
const styleOf = ({ syntax }: Cursor): Style => syntax.style
const depthOf = (cursor: Cursor): number => chainOf(cursor).length

const cannot = (at: Cursor): Refused =>
  new Refused('it is written in a form that is not edited here', placeOf(at))

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

const indented = (lines: readonly string[], column: number, eol: string): string =>
  lines.map((line) => eol + (line === '' ? '' : ' '.repeat(column) + line)).join('')

/** A tag says what the old value was. */
const startOf = (text: string, node: Node): number => {
  const [start] = rangeOf(node)
  const tag = /!\S*[ \t]+$/.exec(text.slice(lineStart(text, start), start))
  return tag ? start - tag[0].length : start
}

const isEmpty = (node: Node): boolean => isScalar(node) && (node as Scalar).source === ''

/** Puts lines in the place of a value in block style: the first behind its key, the others below. */
const replaceInBlock = (at: Cursor, node: Node, lines: readonly string[]): Splice[] => {
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

const replace = (at: Cursor, value: unknown): Splice[] => {
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

const expand = (at: Cursor): Splice[] => {
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

const startOfItem = (collection: Collection, i: number): number => {
  const item = collection.items[i] as Node | Pair
  return rangeOf(('key' in item ? item.key : item) as Node)[0]
}

const endOfItem = (collection: Collection, i: number): number => {
  const item = collection.items[i] as Node | Pair
  return 'key' in item ? endOfPair(item) : endOf(item)
}

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

const insertItem = (at: Cursor, items: readonly Item[], index: number): Splice[] => {
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

const insertPair = (operation: Extract<Operation, { type: 'insert-pair' }>): Splice[] => {
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

/** What follows a place when white space and comments are passed over. */
const nextSign = (text: string, from: number): number =>
  from + (/^(?:\s|#[^\n]*\n)*/.exec(text.slice(from))?.[0].length ?? 0)

/** Only the item goes, with the comma that follows it; one too many before a brace is none. Comments around it stay. */
const takeOut = (text: string, node: Collection, i: number, depth: number): Splice[] => {
  const [own, until] = [startOfItem(node, i), endOfItem(node, i)]
  const next = nextSign(text, until)
  const comma = text[next] === ',' ? next + 1 : until
  if (text.slice(until, comma).includes('#'))
    return [
      { start: own, end: until, text: '', depth },
      { start: next, end: comma, text: '', depth },
    ]
  const isAlone = isOwnLine(text, own) && text.slice(comma, lineEnd(text, comma)).trim() === ''
  const range = isAlone ? wholeLines(text, own, comma, false) : { start: own, end: comma }
  return [{ ...range, text: '', depth }]
}

const removeInFlow = (at: Cursor, node: Collection, gone: ReadonlySet<number>): Splice[] => {
  const text = textOf(at)
  const depth = depthOf(at)
  const ranges = [...gone].map((i) => {
    const isFirst = !node.items.some((_, j) => j < i && !gone.has(j))
    return isFirst
      ? { start: startOfItem(node, i), end: startOfItem(node, i + 1) }
      : { start: endOfItem(node, i - 1), end: endOfItem(node, i) }
  })
  if (ranges.some(({ start, end }) => text.slice(start, end).includes('#')))
    return [...gone].flatMap((i) => takeOut(text, node, i, depth))
  return ranges.map((range) => ({ ...range, text: '', depth }))
}

/** The first field of an entry stands behind its dash: the next one takes its place. */
const removeBehindDash = (at: Cursor, map: YAMLMap, i: number): Splice => {
  const text = textOf(at)
  const start = startOfItem(map, i)
  const next = startOfItem(map, i + 1)
  const end = endOfItem(map, i)
  const depth = depthOf(at)
  const between = text.slice(lineEnd(text, end), next)
  if (!between.includes('#')) return { start, end: next, text: '', depth }
  const dash = text.slice(0, start).trimEnd().length
  return { start: dash, end: lineEnd(text, end), text: '', depth }
}

const remove = (at: Cursor, node: Collection, gone: ReadonlySet<number>): Splice[] => {
  const text = textOf(at)
  const depth = depthOf(at)
  if (gone.size === node.items.length) {
    const empty = isMap(node) ? '{}' : '[]'
    const [start, end] = rangeOf(node)
    if (node.flow) return [{ start, end, text: empty, depth }]
    return replaceInBlock(at, node, [empty])
  }
  if (node.flow) return removeInFlow(at, node, gone)
  return [...gone].map((i) => {
    const start = isSeq(node) ? (dashOf(node, i) ?? 0) : startOfItem(node, i)
    if (isOwnLine(text, start))
      return { ...wholeLines(text, start, endOfItem(node, i), i > 0), text: '', depth }
    if (isSeq(node) || gone.has(i + 1)) throw cannot(at)
    return removeBehindDash(at, node, i)
  })
}

/** The edits that operations make to their collection, or to a single place. */
export const splicesOf = (operations: readonly Operation[]): Splice[] => {
  const [first] = operations
  if (first === undefined) return []
  if (first.type === 'replace') return inOrder(replace(first.at, first.value))
  if (first.type === 'expand') return inOrder(expand(first.at))
  if (first.type === 'insert-pair') return inOrder(insertPair(first))
  if (first.type === 'insert-item') {
    const items = operations.flatMap((one) => (one.type === 'insert-item' ? [one.item] : []))
    return inOrder(insertItem(first.at, items, first.index))
  }
  const container = first.at.above?.cursor
  const node = container?.written
  if (!container || !(isMap(node) || isSeq(node))) throw cannot(first.at)
  const gone = operations.flatMap(({ at }) => {
    const { pair, index } = at.above ?? { pair: null, index: -1 }
    return pair && isMap(node) ? [(node as YAMLMap).items.indexOf(pair)] : [index]
  })
  return inOrder(remove(container, node as Collection, new Set(gone)))
}
