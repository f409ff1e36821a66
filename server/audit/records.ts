/**
 * Between events, the rows that are stored of them, and the records that are answered, printed and sent. What is
 * personal is sealed in a row: the IP address under the key of the actor, personal text under the key of the user whom the
 * event is about. The IP address of a client or of an unknown caller stays plain; so do ids, which events are found by and
 * which identify no one after erasure, and unknown usernames, which belong to no user and expire with retention.
 */

import type { Insertable, Selectable } from 'kysely'
import { type EventCategory, type EventType, eventTypes } from '#schemas/wire/event-types.ts'
import type { AuditRecord } from '#schemas/wire/events.ts'
import { newId } from '#server/platform/ids.ts'
import { decrypt, encrypt, SealError } from '#server/platform/sealing.ts'
import type { AuditEventRow } from '#server/storage/tables/tables.ts'
import type { AuditEvent } from './event.ts'
import type { PersonalKey, PersonalKeys, Suspect } from './personal-keys.ts'

export type StoredEvent = Omit<Selectable<AuditEventRow>, 'id' | 'revision'>

/** The resource type of users. */
const users = 'users'

/** Shown instead of the sealed values of an erased user. */
const erased = 'erased'

/** Shown in the place of what does not open, because the row was tampered with. */
const altered = 'altered'

interface Sealed {
  readonly ip?: string | undefined
  readonly words?: string | undefined
}

/** What a value is bound to: it opens in no other row and in no other place of its own. */
const contextOf = (eventId: string, place: keyof Sealed): string => `audit/${eventId}/${place}`

/** The subject of personal text: the user who is the resource, else the actor. */
const subjectOf = (
  resourceType: string | null,
  resourceId: string | null,
  actor: string,
): string => (resourceType === users && resourceId !== null ? resourceId : actor)

const detailOf = (detail: string | null, words: string | null): string | null =>
  detail && words ? `${detail}: ${words}` : detail || words || null

const addSuspects = (suspects: Suspect[], event: AuditEvent): void => {
  const { actor, realm, outcome, personal, resourceType = null, resourceId = null } = event
  // Only a failed sign-in has an actor that is not an id of ours, but for the words of the system itself.
  suspects.push({ id: actor, realm, genuine: outcome === 'SUCCESS' })
  const subject = subjectOf(resourceType, resourceId, actor)
  if (personal !== undefined && subject !== actor)
    suspects.push({ id: subject, realm, genuine: true })
}

const recordIn = (event: AuditEvent, id: string, at: number): AuditRecord => ({
  id,
  ts: new Date(at).toISOString(),
  kind: 'audit',
  category: eventTypes[event.type],
  type: event.type,
  realm: event.realm,
  actor: event.actor,
  ...(event.onBehalfOf === undefined ? {} : { onBehalfOf: event.onBehalfOf }),
  sourceIp: event.sourceIp,
  resourceType: event.resourceType ?? null,
  resourceId: event.resourceId ?? null,
  outcome: event.outcome,
  detail: detailOf(event.detail ?? null, event.personal ?? null),
})

const rowIn = (
  event: AuditEvent,
  id: string,
  at: number,
  keys: ReadonlyMap<string, PersonalKey>,
): Insertable<AuditEventRow> => {
  const { type, realm, actor, sourceIp, outcome, personal } = event
  const { resourceType = null, resourceId = null, detail = null } = event
  const ofActor = keys.get(actor)
  const ofSubject = keys.get(subjectOf(resourceType, resourceId, actor))
  const ip = ofActor && encrypt(ofActor, sourceIp, contextOf(id, 'ip'))
  const words =
    ofSubject && personal !== undefined
      ? encrypt(ofSubject, personal, contextOf(id, 'words'))
      : undefined
  const sealed: Sealed | undefined = ip || words ? { ip, words } : undefined
  return {
    event_id: id,
    realm,
    at,
    category: eventTypes[type],
    type,
    actor,
    on_behalf_of: event.onBehalfOf ?? null,
    source_ip: ip === undefined ? sourceIp : '',
    resource_type: resourceType,
    resource_id: resourceId,
    outcome,
    detail: words === undefined ? detailOf(detail, personal ?? null) : detail,
    revision: event.revision ?? null,
    sealed: sealed ? JSON.stringify(sealed) : null,
  }
}

export interface Prepared {
  readonly rows: readonly Insertable<AuditEventRow>[]
  readonly records: readonly AuditRecord[]
}

/** Rows to store, and the records that may be told once they are. */
export const prepare = async (
  events: readonly AuditEvent[],
  at: number,
  personalKeys: PersonalKeys,
): Promise<Prepared> => {
  const suspects: Suspect[] = []
  for (const event of events) addSuspects(suspects, event)
  const keys = await personalKeys.forWriting(suspects)
  const ids = events.map(() => newId())
  return {
    rows: events.map((event, i) => rowIn(event, ids[i] ?? '', at, keys)),
    records: events.map((event, i) => recordIn(event, ids[i] ?? '', at)),
  }
}

const openIn = (
  { event_id }: StoredEvent,
  place: keyof Sealed,
  value: string,
  key: PersonalKey | undefined,
): string => {
  if (!key) return erased
  try {
    return decrypt(key, { kid: 'personal', v: value }, contextOf(event_id, place))
  } catch (error) {
    if (error instanceof SealError) return altered
    throw error
  }
}

const subjectIn = (row: StoredEvent): string =>
  subjectOf(row.resource_type, row.resource_id, row.actor)

const recordOf = (row: StoredEvent, keys: ReadonlyMap<string, PersonalKey>): AuditRecord => {
  const { ip, words }: Sealed = row.sealed ? JSON.parse(row.sealed) : {}
  return {
    id: row.event_id,
    ts: new Date(row.at).toISOString(),
    kind: 'audit',
    category: row.category as EventCategory,
    type: row.type as EventType,
    realm: row.realm,
    actor: row.actor,
    ...(row.on_behalf_of ? { onBehalfOf: row.on_behalf_of } : {}),
    sourceIp: ip === undefined ? row.source_ip : openIn(row, 'ip', ip, keys.get(row.actor)),
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    outcome: row.outcome as AuditRecord['outcome'],
    detail:
      words === undefined
        ? row.detail
        : detailOf(row.detail, openIn(row, 'words', words, keys.get(subjectIn(row)))),
  }
}

/** Stored events as records, with personal values while their key exists. */
export type ReadRecords = (rows: readonly StoredEvent[]) => Promise<AuditRecord[]>

export const createReadRecords =
  (personalKeys: Pick<PersonalKeys, 'forReading'>): ReadRecords =>
  async (rows) => {
    const people = rows.filter(({ sealed }) => sealed).flatMap((row) => [row.actor, subjectIn(row)])
    const keys = people.length > 0 ? await personalKeys.forReading(people) : new Map()
    return rows.map((row) => recordOf(row, keys))
  }
