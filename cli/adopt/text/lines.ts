/** The lines of a text that a range covers. */

import type { Node, Pair } from 'yaml'
import { endOf, endOfPair } from './syntax.ts'

export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
  /** Of two at the same place, what is deeper inside comes first. */
  readonly depth: number
}

export const lineStart = (text: string, offset: number): number =>
  text.lastIndexOf('\n', offset - 1) + 1

/** Where the line ends, before its line break. */
export const lineEnd = (text: string, offset: number): number => {
  const found = text.indexOf('\n', offset)
  if (found === -1) return text.length
  return found > offset && text[found - 1] === '\r' ? found - 1 : found
}

/** Where the next line begins. */
const nextLine = (text: string, offset: number): number => {
  const found = text.indexOf('\n', offset)
  return found === -1 ? text.length : found + 1
}

export const isOwnLine = (text: string, offset: number): boolean =>
  text.slice(lineStart(text, offset), offset).trim() === ''

const isComment = (line: string): boolean => /^\s*#/.test(line)

/**
 * Where lines of a column can be added behind what is written. Comments below that stand further right belong to it
 * still; a block of text ends behind its break.
 */
export const behind = (text: string, what: Node | Pair, column = Number.MAX_VALUE): number => {
  const end = 'key' in what ? endOfPair(what as Pair) : endOf(what as Node)
  const isBroken = text[end - 1] === '\n'
  let at = isBroken ? (text[end - 2] === '\r' ? end - 2 : end - 1) : lineEnd(text, end)
  for (;;) {
    const next = nextLine(text, at)
    const line = text.slice(next, lineEnd(text, next))
    if (next >= text.length || !isComment(line) || line.search(/\S/) <= column) return at
    at = next + line.length
  }
}

/** The line above, as start and text; undefined on the first. */
const lineAbove = (text: string, start: number) => {
  if (start === 0) return undefined
  const above = lineStart(text, start - 1)
  return { start: above, line: text.slice(above, start).replace(/\r?\n$/, '') }
}

/** Comments that stand directly above, at the same column: they speak of what follows. */
const withComments = (text: string, start: number, column: number): number => {
  let from = start
  for (;;) {
    const above = lineAbove(text, from)
    if (!above || !isComment(above.line) || above.line.search(/\S/) !== column) return from
    from = above.start
  }
}

/** Whole lines from one offset to another, with the comments above them; one of two empty lines around goes along. */
export const wholeLines = (
  text: string,
  from: number,
  until: number,
  takesComments: boolean,
): { readonly start: number; readonly end: number } => {
  const own = lineStart(text, from)
  let start = takesComments ? withComments(text, own, from - own) : own
  const end = text[until - 1] === '\n' ? until : nextLine(text, until)
  const above = lineAbove(text, start)
  const isLast = end >= text.length
  if (above?.line.trim() === '' && (isLast || text.slice(end, lineEnd(text, end)).trim() === ''))
    start = above.start
  // The last line of a file without a break at its end: the break before it goes.
  if (isLast && !text.endsWith('\n') && start > 0)
    return { start: text[start - 2] === '\r' ? start - 2 : start - 1, end }
  return { start, end }
}

/** The text with all of them, which are in order. */
export const spliced = (text: string, splices: readonly Splice[]): string => {
  let result = ''
  let from = 0
  for (const { start, end, text: added } of splices) {
    result += text.slice(from, start) + added
    from = end
  }
  return result + text.slice(from)
}

export const inOrder = (splices: readonly Splice[]): Splice[] =>
  splices.toSorted((a, b) => a.start - b.start || a.end - b.end || b.depth - a.depth)

/** Whether one of the first would touch what one of the others changes; at the same place both may be added. */
export const collide = (some: readonly Splice[], others: readonly Splice[]): boolean =>
  some.some((one) => others.some((other) => one.start < other.end && other.start < one.end))
