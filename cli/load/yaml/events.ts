/**
 * The parser's events. YAML wants a closing bracket further in than the key it belongs to (§7.4); most people, and most
 * other parsers, put it below the key, so that is read as well.
 */

import { EVENT_ID, type Event, parseEvents, YAMLException } from 'js-yaml'

/** As deep as a document may nest without aliases. */
const deepest = 100

/** Puts a bracket further in than anything it can belong to. */
const indentation = ' '.repeat(1000)

/** More brackets than people write would make a text of gigabytes. */
const mostInsertions = 50_000

export type ParsedEvents =
  | { readonly events: readonly Event[] }
  | { readonly reason: string; readonly at: number }

const parse = (text: string): ParsedEvents => {
  try {
    return { events: parseEvents(text, { maxDepth: deepest }) }
  } catch (error) {
    if (!(error instanceof YAMLException) || error.mark === undefined) throw error
    return { reason: error.reason, at: Math.min(error.mark.position, text.length) }
  }
}

const withInsertions = (text: string, insertions: readonly number[]): string => {
  let from = 0
  let result = ''
  for (const at of insertions) {
    result += text.slice(from, at) + indentation
    from = at
  }
  return result + text.slice(from)
}

/** Offsets of the widened text -> offsets of the original, asked in any order. */
const backwards =
  (insertions: readonly number[]) =>
  (offset: number): number => {
    let low = 0
    let high = insertions.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((insertions[middle] ?? 0) + middle * indentation.length < offset) low = middle + 1
      else high = middle
    }
    const before = insertions[low - 1]
    return before === undefined ? offset : Math.max(before, offset - low * indentation.length)
  }

const moved = (event: Event, back: (offset: number) => number): Event => {
  const copy: Record<string, unknown> = { ...event }
  for (const name of [
    'start',
    'valueStart',
    'valueEnd',
    'anchorStart',
    'anchorEnd',
    'tagStart',
    'tagEnd',
  ]) {
    const offset = copy[name]
    if (typeof offset === 'number' && offset >= 0) copy[name] = back(offset)
  }
  return copy as unknown as Event
}

/** The insertions that fell into a text, such as literal text that ends with a bracket, and not before the end of a list. */
const insideOfText = (events: readonly Event[], insertions: readonly number[]): Set<number> => {
  const wrong = new Set<number>()
  let next = 0
  for (const event of events) {
    if (event.type !== EVENT_ID.SCALAR || event.valueStart < 0) continue
    while ((insertions[next] ?? Number.POSITIVE_INFINITY) < event.valueStart) next += 1
    for (let i = next; (insertions[i] ?? Number.POSITIVE_INFINITY) < event.valueEnd; i += 1)
      wrong.add(insertions[i] ?? -1)
  }
  return wrong
}

const parseWidened = (text: string, insertions: readonly number[]): ParsedEvents => {
  const back = backwards(insertions)
  const parsed = parse(withInsertions(text, insertions))
  if (!('events' in parsed)) return { ...parsed, at: back(parsed.at) }
  const events = parsed.events.map((event) => moved(event, back))
  const wrong = insideOfText(events, insertions)
  if (wrong.size === 0) return { events }
  return parseWidened(
    text,
    insertions.filter((at) => !wrong.has(at)),
  )
}

export const eventsOf = (text: string): ParsedEvents => {
  const parsed = parse(text)
  if ('events' in parsed || parsed.reason !== 'deficient indentation') return parsed
  if (!/^[\]}]/.test(text.slice(parsed.at, parsed.at + 1))) return parsed
  const insertions = [...text.matchAll(/(?<=^ *)[\]}]/gm)].map(({ index }) => index)
  return insertions.length > mostInsertions ? parsed : parseWidened(text, insertions)
}
