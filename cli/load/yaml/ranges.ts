/**
 * Where scalars and empty list items stand in a text. The events of the parser have the offsets of values; quotes, block
 * headers and lone dashes are found here.
 */

import { SCALAR_STYLE, type ScalarEvent } from 'js-yaml'

export interface Range {
  readonly start: number
  readonly end: number
}

const isQuoted = ({ style }: ScalarEvent): boolean =>
  style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED

/** The `|` or `>` of a block scalar, whose event only tells where the text below it begins. */
const headerOf = (text: string, event: ScalarEvent, last: number): number => {
  const lineStart = text.lastIndexOf('\n', event.valueStart - 2) + 1
  const from = Math.max(lineStart, last, event.anchorEnd, event.tagEnd)
  const found = text.slice(from, event.valueStart).search(/[|>]/)
  return found === -1 ? from : from + found
}

/** A scalar without a value stands at its tag or anchor, else where `empty` says. */
const withoutValue = (event: ScalarEvent, empty: Range): Range => {
  if (event.tagStart >= 0) return { start: event.tagStart, end: event.tagEnd }
  if (event.anchorStart >= 0) return { start: event.anchorStart - 1, end: event.anchorEnd }
  return empty
}

/** The range of a scalar, with its quotes or block header; `last` is the end of the token before it. */
export const rangeOf = (
  text: string,
  event: ScalarEvent,
  last: number,
  empty: Range = { start: last, end: last },
): Range => {
  const { valueStart, valueEnd, style } = event
  if (valueStart < 0) return withoutValue(event, empty)
  if (isQuoted(event)) return { start: valueStart - 1, end: valueEnd + 1 }
  const start = style === SCALAR_STYLE.PLAIN ? valueStart : headerOf(text, event, last)
  return { start, end: valueEnd }
}

/** The dash of a list item that has nothing else; `last` is the end of the token before it. */
export const loneDash = (text: string, last: number): number => {
  const pattern = /[\r\n][ \t]*(?:- +)*-(?=[ \t]*(?:#[^\r\n]*)?(?:[\r\n]|$))/g
  pattern.lastIndex = Math.max(0, last - 1)
  const found = pattern.exec(text)
  return found === null ? last : found.index + found[0].length - 1
}
