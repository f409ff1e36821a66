/** How many lines each part of the dashboard gets, so that all of it fits the terminal without scrolling. */

export interface Wishes {
  readonly pages: number
  readonly notes: number
  readonly changes: number
  readonly events: number
}

/** Header and keys, the headings of the last apply and of the events, and the empty lines between the parts. */
const fixed = 7
const mostEvents = 8
/** Below this the events shrink for the sake of what the apply tells. */
const fewestEvents = 2

/** In the order of importance: pages and people, what the last apply says, events, notes. */
export const allot = (height: number, wishes: Wishes): Wishes => {
  let left = Math.max(0, height - fixed)
  const take = (wish: number, atMost: number): number => {
    const given = Math.max(0, Math.min(wish, atMost, left))
    left -= given
    return given
  }
  // Pages may fill no more than two thirds: an error must always find its place.
  const pages = take(wishes.pages, Math.ceil((left * 2) / 3))
  const notes = take(wishes.notes, 1)
  const reserved = Math.min(wishes.events, fewestEvents, left)
  const changes = take(wishes.changes, left - reserved)
  const events = take(wishes.events, mostEvents)
  return { pages, changes, events, notes: notes + take(wishes.notes - notes, left) }
}

export interface Cut<T> {
  readonly shown: readonly T[]
  /** How many are left out; one line of the space tells of them. */
  readonly more: number
}

export const cutTo = <T>(items: readonly T[], space: number): Cut<T> => {
  if (items.length <= space) return { shown: items, more: 0 }
  const shown = items.slice(0, Math.max(0, space - 1))
  return { shown, more: space > 0 ? items.length - shown.length : 0 }
}
