/** The state of the dashboard as a value: each event produces the next state. */

import type { Administrator, RealmLinks, Stamped, TestUser } from '../../../dev/happenings.ts'
import { isWorthShowing, type ShownEvent, shownEvent, shownMessage, withEvent } from './events.ts'
import { headlineOf, type Line, outcomeLines } from './lines.ts'
import { noteOf } from './words.ts'

export interface ShownApply {
  readonly at: Date
  readonly headline: Line
  readonly lines: readonly Line[]
}

export interface DashboardState {
  readonly version: string
  readonly phase: 'starting' | 'applying' | 'watching' | 'stopping'
  readonly readyAfterMs: number | null
  readonly docs: string | null
  readonly api: string | null
  readonly admin: Administrator | null
  readonly realms: readonly RealmLinks[]
  readonly users: readonly TestUser[]
  readonly lastApply: ShownApply | null
  readonly events: readonly ShownEvent[]
  /** Notices that are not events: a port in use, generated secrets. The newest last. */
  readonly notes: readonly string[]
}

export const initialState: DashboardState = {
  version: '',
  phase: 'starting',
  readyAfterMs: null,
  docs: null,
  api: null,
  admin: null,
  realms: [],
  users: [],
  lastApply: null,
  events: [],
  notes: [],
}

const keptEvents = 50
const keptNotes = 3

const happened = (state: DashboardState, happening: Stamped): DashboardState => {
  switch (happening.type) {
    case 'starting':
      return { ...state, version: happening.version }
    case 'server-ready': {
      const { docs, api, admin } = happening
      return { ...state, docs, api, admin }
    }
    case 'applying':
      return { ...state, phase: 'applying' }
    case 'synced': {
      const { at, outcome } = happening
      const lastApply = { at, headline: headlineOf(outcome), lines: outcomeLines(outcome) }
      return { ...state, phase: 'watching', lastApply }
    }
    case 'realms':
      return { ...state, realms: happening.realms, users: happening.users }
    case 'ready':
      return { ...state, readyAfterMs: happening.milliseconds }
    case 'event': {
      if (!isWorthShowing(happening)) return state
      const events = withEvent(state.events, shownEvent(happening)).slice(-keptEvents)
      return { ...state, events }
    }
    case 'message':
      return {
        ...state,
        events: withEvent(state.events, shownMessage(happening)).slice(-keptEvents),
      }
    case 'stopping':
      return { ...state, phase: 'stopping' }
    default:
      return state
  }
}

export const nextState = (state: DashboardState, happening: Stamped): DashboardState => {
  const next = happened(state, happening)
  const note = noteOf(happening)
  return note === undefined ? next : { ...next, notes: [...next.notes, note].slice(-keptNotes) }
}
