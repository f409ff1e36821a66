/** The number of lines of each part of the dashboard, so that it fits the terminal without scrolling. */

export interface Wishes {
  readonly pages: number
  readonly notes: number
  readonly changes: number
  readonly events: number
}

/** Header and keys, the headings of the last apply and of the events, and the empty lines between the parts. */
const fixed = 7
const mostEvents = 8
const fewestEvents = 3
/** The path that a note begins with may take two on a narrow screen. */
const fewestNotes = 2

/** What the last apply says has a third of the space for sure: an error must always find its place. */
export const allot = (height: number, wishes: Wishes): Wishes => {
  let left = Math.max(0, height - fixed)
  const take = (wish: number, atMost: number): number => {
    const given = Math.max(0, Math.min(wish, atMost, left))
    left -= given
    return given
  }
  const someNotes = take(wishes.notes, fewestNotes)
  const someChanges = take(wishes.changes, Math.ceil(left / 3))
  const pages = take(wishes.pages, Math.ceil((left * 2) / 3))
  const someEvents = take(wishes.events, fewestEvents)
  const changes = someChanges + take(wishes.changes - someChanges, left)
  const events = someEvents + take(wishes.events - someEvents, mostEvents - someEvents)
  const notes = someNotes + take(wishes.notes - someNotes, left)
  return { pages: pages + take(wishes.pages - pages, left), notes, changes, events }
}

export interface Cut<T> {
  readonly shown: readonly T[]
  /** How many are left out; one line of the space counts them. */
  readonly more: number
}

export const cutTo = <T>(items: readonly T[], space: number): Cut<T> => {
  if (items.length <= space) return { shown: items, more: 0 }
  const shown = items.slice(0, Math.max(0, space - 1))
  return { shown, more: space > 0 ? items.length - shown.length : 0 }
}

/** Breaks a text wherever the screen ends. */
export const broken = (text: string, width: number): string[] => {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += Math.max(1, width))
    pieces.push(text.slice(at, at + Math.max(1, width)))
  return pieces
}

const continued = '      '

/** Breaks a text between words where it is wider than the screen; a word that is wider itself stays whole. */
export const wrapped = (text: string, width: number): string[] => {
  const indent = /^ */.exec(text)?.[0] ?? ''
  const lines: string[] = []
  let current = indent
  for (const word of text.slice(indent.length).split(' ')) {
    const isFirst = current === indent || current === continued
    if (!isFirst && current.length + 1 + word.length > width) {
      lines.push(current)
      current = continued + word
    } else current += isFirst ? word : ` ${word}`
  }
  return [...lines, current]
}
