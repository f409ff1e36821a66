/** Fields and items that go, with their lines. All other bytes of the file stay the same. */

import { isMap, isSeq, type YAMLMap } from 'yaml'
import type { Cursor } from './cursor.ts'
import { type Collection, cannot, depthOf, endOfItem, startOfItem, textOf } from './edit.ts'
import { isOwnLine, lineEnd, type Splice, wholeLines } from './lines.ts'
import { replaceInBlock } from './replace.ts'
import { dashOf, rangeOf } from './syntax.ts'

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

export const remove = (at: Cursor, node: Collection, gone: ReadonlySet<number>): Splice[] => {
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
