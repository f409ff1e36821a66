/** Which entry a comment belongs to, by where it stands. */

import { CST, Lexer } from 'yaml'
import { type Collection, type Entry, isCollection, isEmptyText, type Value } from './tree.ts'

export interface Comment {
  /** With its "#". */
  readonly text: string
  readonly offset: number
  readonly column: number
  /** Whether nothing stands before it on its line. */
  readonly ownLine: boolean
  /** Whether an empty line stands above it. */
  readonly blankAbove: boolean
}

/** Tokens of the lexer without text. */
const zeroWidth = new Set([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR])

const isBlankAbove = (text: string, offset: number): boolean => {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  if (lineStart === 0) return false
  const above = text.slice(text.lastIndexOf('\n', lineStart - 2) + 1, lineStart - 1)
  return above.trim() === ''
}

export const commentsOf = (text: string): Comment[] => {
  const comments: Comment[] = []
  let offset = 0
  for (const token of new Lexer().lex(text)) {
    if (zeroWidth.has(token)) continue
    if (CST.tokenType(token) === 'comment') {
      const lineStart = text.lastIndexOf('\n', offset - 1) + 1
      comments.push({
        text: token.trimEnd(),
        offset,
        column: offset - lineStart,
        ownLine: text.slice(lineStart, offset).trim() === '',
        blankAbove: isBlankAbove(text, offset),
      })
    }
    offset += token.length
  }
  return comments
}

/** An entry with its parents. */
interface Spot {
  readonly entry: Entry
  readonly within: Collection
  /** The entry whose value `within` is; null of the document's. */
  readonly owner: Spot | null
}

const spotsOf = (value: Value | null, owner: Spot | null = null): Spot[] =>
  value === null || !isCollection(value)
    ? []
    : value.entries.flatMap((entry) => {
        const spot: Spot = { entry, within: value, owner }
        return [spot, ...spotsOf(entry.value, spot)]
      })

const push = (lines: string[], { text, blankAbove }: Comment, isFirst: boolean): void => {
  if (blankAbove && !isFirst) lines.push('')
  lines.push(text)
}

const lead = ({ entry }: Spot, comment: Comment): void => {
  if (entry.leading.length === 0) entry.blankBefore = comment.blankAbove
  push(entry.leading, comment, entry.leading.length === 0)
}

const trail = ({ entry }: Spot, comment: Comment): void => {
  const { value } = entry
  // A dash with nothing but a comment behind it.
  const isLoneDash = entry.key === null && isCollection(value) && comment.offset < value.start
  if (isLoneDash || entry.trailing !== null) entry.leading.push(comment.text)
  else entry.trailing = comment.text
}

/** Inside of a scalar: the header of a block of text, which is printed as it is. */
const isWithinText = (spot: Spot | undefined, { offset }: Comment): boolean => {
  const value = spot?.entry.value
  return value?.type === 'text' && value.start <= offset && offset < value.end
}

/** The braces around a comment, and the entries between them. */
const bracesAround = (spot: Spot | undefined, offset: number): Collection | undefined => {
  const own = spot?.entry.value
  if (own && isCollection(own) && own.flow && own.start < offset && offset < own.end) return own
  for (let one = spot ?? null; one !== null; one = one.owner)
    if (one.within.flow && one.within.start < offset && offset < one.within.end) return one.within
  return undefined
}

/** Behind a closing brace, a comment belongs to the entry with the braces. */
const outOfBraces = (spot: Spot, offset: number): Spot => {
  let found = spot
  while (found.owner !== null && found.within.flow && found.within.end <= offset)
    found = found.owner
  return found
}

/** Of the collections that end here, the one whose entries stand where the comment does, or further left. */
const endedAt = (before: Spot | undefined, next: Spot | undefined, column: number) => {
  const open = new Set<Collection>()
  for (let one = next ?? null; one !== null; one = one.owner) open.add(one.within)
  let found: Collection | undefined
  for (let one = before ?? null; one !== null; one = one.owner) {
    const { within } = one
    if (open.has(within) || within.flow || within.column > column) continue
    if (found === undefined || within.column >= found.column) found = within
  }
  return found
}

interface Attached {
  /** Comments before the first entry, or of a document without entries. */
  readonly loose: Comment[]
}

const attachOwnLine = (
  comment: Comment,
  before: Spot | undefined,
  next: Spot | undefined,
  root: Value | null,
): boolean => {
  const { offset, column } = comment
  const braces = bracesAround(before, offset)
  if (braces) {
    if (next && braces.entries.includes(next.entry)) lead(next, comment)
    else if (before && braces.entries.length === 0) before.entry.leading.push(comment.text)
    else push(braces.below, comment, false)
    return true
  }
  if (before && isEmptyText(before.entry.value) && column > before.entry.column) {
    trail(before, comment)
    return true
  }
  const value = before?.entry.value
  if (before && value && value.start > offset && !(isCollection(value) && !value.flow)) {
    before.entry.leading.push(comment.text)
    return true
  }
  const isFirstBelow = next !== undefined && next.owner === before && before !== undefined
  if (next && (column <= next.entry.column || isFirstBelow || before === undefined)) {
    lead(next, comment)
    return true
  }
  const ended = endedAt(before, next, column)
  if (ended) push(ended.below, comment, false)
  else if (next) lead(next, comment)
  else if (root && isCollection(root)) push(root.below, comment, false)
  else return false
  return true
}

/** Gives each comment to an entry or a collection of the document; what has none to go to comes back. */
export const attachComments = (
  text: string,
  root: Value | null,
  comments: readonly Comment[],
): Attached => {
  const spots = spotsOf(root)
  const loose: Comment[] = []
  let at = 0
  for (const comment of comments) {
    while ((spots[at]?.entry.start ?? Number.POSITIVE_INFINITY) < comment.offset) at += 1
    const [before, next] = [spots[at - 1], spots[at]]
    if (isWithinText(before, comment)) continue
    if (comment.ownLine) {
      if (!attachOwnLine(comment, before, next, root)) loose.push(comment)
    } else if (before) trail(outOfBraces(before, comment.offset), comment)
    else loose.push(comment)
  }
  for (const { entry } of spots) {
    const isBlank = isBlankAbove(text, entry.start)
    if (entry.leading.length === 0) entry.blankBefore = isBlank
    else if (isBlank) entry.leading.push('')
  }
  return { loose }
}
