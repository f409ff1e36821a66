/** Going through a plan, as a value: where one is, what is open, what is searched for; and what a key does to it. */

import type { Line } from '../../plan/lines.ts'
import type { Item } from './items.ts'

export interface Browsing {
  readonly items: readonly Item[]
  /** Whether it may be approved. */
  readonly isApplicable: boolean
  /** Indexes of the items whose lines are shown. */
  readonly open: ReadonlySet<number>
  /** Among the rows that are shown. */
  readonly cursor: number
  readonly query: string
  readonly isTyping: boolean
  /** Null until the user decides. */
  readonly outcome: 'approved' | 'left' | 'interrupted' | null
}

export interface Row {
  /** The same for as long as it is shown. */
  readonly id: string
  readonly item: number
  /** Null: the title of the item. */
  readonly line: Line | null
}

/** What was pressed: a word for a key, or the characters themselves. */
export interface Press {
  readonly key:
    | 'up'
    | 'down'
    | 'page-up'
    | 'page-down'
    | 'home'
    | 'end'
    | 'enter'
    | 'tab'
    | 'back-tab'
    | 'escape'
    | 'backspace'
    | 'interrupt'
    | 'text'
  readonly text: string
}

export const beginBrowsing = (items: readonly Item[], isApplicable: boolean): Browsing => ({
  items,
  isApplicable,
  open: new Set(),
  cursor: 0,
  query: '',
  isTyping: false,
  outcome: null,
})

export const rowsOf = ({ items, open, query }: Browsing): Row[] => {
  const wanted = query.toLowerCase()
  return items.flatMap(({ text, lines }, item): Row[] => {
    if (!text.includes(wanted)) return []
    const below = open.has(item)
      ? lines.map((line, index) => ({ id: `${item}.${index}`, item, line }))
      : []
    return [{ id: String(item), item, line: null }, ...below]
  })
}

const within = (state: Browsing, cursor: number): Browsing => ({
  ...state,
  cursor: Math.max(0, Math.min(cursor, rowsOf(state).length - 1)),
})

/** The row of an item's title, where it is shown. */
const titleRow = (state: Browsing, item: number): number =>
  rowsOf(state).findIndex((row) => row.item === item && row.line === null)

const toggle = (state: Browsing): Browsing => {
  const row = rowsOf(state)[state.cursor]
  if (row === undefined) return state
  const open = new Set(state.open)
  if (!open.delete(row.item)) open.add(row.item)
  const next = { ...state, open }
  return { ...next, cursor: titleRow(next, row.item) }
}

/** The next title, or the one before. */
const jump = (state: Browsing, step: 1 | -1): Browsing => {
  const rows = rowsOf(state)
  for (let at = state.cursor + step; at >= 0 && at < rows.length; at += step)
    if (rows[at]?.line === null) return { ...state, cursor: at }
  return state
}

const openAll = (state: Browsing, all: boolean): Browsing => {
  const row = rowsOf(state)[state.cursor]
  const next = { ...state, open: new Set(all ? state.items.keys() : []) }
  return { ...next, cursor: row === undefined ? 0 : Math.max(0, titleRow(next, row.item)) }
}

const search = (state: Browsing, query: string): Browsing => ({ ...state, query, cursor: 0 })

const typing = (state: Browsing, { key, text }: Press): Browsing => {
  if (key === 'enter') return { ...state, isTyping: false }
  if (key === 'escape') return { ...search(state, ''), isTyping: false }
  if (key === 'backspace') return search(state, state.query.slice(0, -1))
  return key === 'text' ? search(state, state.query + text) : state
}

const character = (state: Browsing, text: string): Browsing => {
  if (text === 'q') return { ...state, outcome: 'left' }
  if (text === 'a') return state.isApplicable ? { ...state, outcome: 'approved' } : state
  if (text === 'e') return openAll(state, true)
  if (text === 'c') return openAll(state, false)
  if (text === '/') return { ...search(state, ''), isTyping: true }
  if (text === ' ') return toggle(state)
  if (text === 'j') return within(state, state.cursor + 1)
  return text === 'k' ? within(state, state.cursor - 1) : state
}

/** `page` is how many rows the screen has for the list. */
export const press = (state: Browsing, pressed: Press, page: number): Browsing => {
  const { key, text } = pressed
  if (state.outcome !== null) return state
  if (key === 'interrupt') return { ...state, outcome: 'interrupted' }
  if (state.isTyping) return typing(state, pressed)
  const { cursor } = state
  if (key === 'up') return within(state, cursor - 1)
  if (key === 'down') return within(state, cursor + 1)
  if (key === 'page-up') return within(state, cursor - page)
  if (key === 'page-down') return within(state, cursor + page)
  if (key === 'home') return within(state, 0)
  if (key === 'end') return within(state, Number.MAX_SAFE_INTEGER)
  if (key === 'enter') return toggle(state)
  if (key === 'tab') return jump(state, 1)
  if (key === 'back-tab') return jump(state, -1)
  if (key === 'escape') return search(state, '')
  return key === 'text' ? character(state, text) : state
}

/** The first row that is shown, so that the one with the cursor is among them. */
export const windowStart = (cursor: number, rows: number, height: number): number =>
  Math.max(0, Math.min(cursor - Math.floor(height / 2), rows - height))
