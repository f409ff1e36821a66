/** The audit trail: people read names where events hold ids. */

import type { EventRecord } from '#schemas/wire/events.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { changesText, printEvent } from './event-line.ts'

export type Names = ReadonlyMap<string, string>

/** The actor, and the impersonated user. */
export const peopleOf = ({ actor, onBehalfOf }: EventRecord): string[] =>
  onBehalfOf === undefined ? [actor] : [actor, onBehalfOf]

const rowOf = (event: EventRecord, names: Names): string[] => [
  event.ts.replace(/\.\d+Z$/, 'Z'),
  event.type,
  event.outcome,
  peopleOf(event)
    .map((id, i) => names.get(id) ?? (i === 0 ? event.actorName : event.onBehalfOfName) ?? id)
    .join(' as '),
  event.sourceIp,
  [event.resourceType, event.resourceName ?? event.resourceId]
    .filter((part) => part !== null)
    .join('/'),
  // The detail of a change names its fields, and these say more.
  changesText(event) || (event.detail ?? ''),
]

/** What a view asks for while it shows events. */
export interface EventReader {
  readonly realm: string
  readonly quiet: boolean
  readonly namesOf: (events: readonly EventRecord[]) => Promise<Names>
}

export interface EventView {
  /** Those of the past, oldest first. */
  readonly list: (events: readonly EventRecord[], reader: EventReader) => Promise<void>
  /** New ones, as they come. */
  readonly more: (events: readonly EventRecord[], reader: EventReader) => Promise<void>
}

export const eventView = (): EventView => {
  const known = new Map<string, string>()
  return {
    async list(events, reader) {
      if (events.length === 0) return note(reader, `realm ${reader.realm} has no such events`)
      const names = await reader.namesOf(events)
      printTable(
        ['time', 'event', 'outcome', 'actor', 'from', 'what', 'detail'],
        events.map((event) => rowOf(event, names)),
      )
    },
    async more(events, reader) {
      const unknown = events.filter((event) => peopleOf(event).some((id) => !known.has(id)))
      for (const [id, name] of await reader.namesOf(unknown)) known.set(id, name)
      for (const event of events) printEvent(rowOf(event, known), event)
    },
  }
}
