/** The audit trail for programs: what is recorded, one event a line. */

import type { EventView } from '../human/live/events.ts'
import { printJsonLine } from './json.ts'

const print: EventView['list'] = async (events) => {
  for (const event of events) printJsonLine(event)
}

export const eventLines: EventView = { list: print, more: print }
