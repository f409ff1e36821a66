/** The audit trail. People read names where events hold ids; programs get what is recorded. */

import { nearest } from '#schemas/text/typos.ts'
import { categories, eventTypes } from '#schemas/wire/event-types.ts'
import type { Connection } from '../../../client/connect.ts'
import { ProblemError } from '../../../client/http/errors.ts'
import { isUuid } from '../../../client/kind-names.ts'
import type { EventFilter, EventRecord } from '../../../client/records.ts'
import { CommandError, exitCodes } from '../../../exit.ts'
import { note } from '../../../views/human/elements/note.ts'
import { printTable } from '../../../views/human/elements/table.ts'
import { changesText, printEvent } from '../../../views/human/event-line.ts'
import { printJsonLine } from '../../../views/json/json.ts'
import { type Invocation, textOf } from '../../invocation.ts'
import { withRealm } from '../connection.ts'
import { follow } from './follow-events.ts'
import { momentOf } from './moments.ts'

/** So many names are worth a request each. */
const mostNames = 25

/** The word as the server spells it. */
const oneOf = (
  invocation: Invocation,
  flag: 'type' | 'category',
  known: readonly string[],
): string | undefined => {
  const given = textOf(invocation, flag)
  if (given === undefined) return undefined
  const found = known.find((one) => one === given.toUpperCase().replaceAll('-', '_'))
  if (found !== undefined) return found
  const meant = nearest(given, known)
  throw new CommandError(exitCodes.error, `there is no event ${flag} "${given}"`, {
    hint: meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`,
  })
}

/** Null where nobody has the name, or who asks may not see users. */
const userOrNull = async ({ api }: Connection, realm: string, name: string) => {
  try {
    return await api.users.find(realm, name)
  } catch (error) {
    if (error instanceof ProblemError || error instanceof CommandError) return null
    throw error
  }
}

/** Users are recorded by id; a name that is nobody's stands for itself, as in a failed sign-in. */
const actorOf = async (
  connection: Connection,
  realm: string,
  name: string | undefined,
): Promise<string | undefined> => {
  if (name === undefined || isUuid(name)) return name
  return (await userOrNull(connection, realm, name))?.userId ?? name
}

const filterOf = async (
  invocation: Invocation,
  connection: Connection,
  realm: string,
): Promise<EventFilter> => {
  const now = Date.now()
  const [from, to] = (['from', 'to'] as const).map((flag) => {
    const text = textOf(invocation, flag)
    return text === undefined ? undefined : momentOf(flag, text, now)
  })
  const filter = {
    type: oneOf(invocation, 'type', Object.keys(eventTypes)),
    category: oneOf(invocation, 'category', categories),
    outcome: textOf(invocation, 'outcome'),
    from,
    to,
    actor: await actorOf(connection, realm, textOf(invocation, 'actor')),
  }
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
}

/** Who did it, and as whom. */
const peopleOf = ({ actor, onBehalfOf }: EventRecord): string[] =>
  onBehalfOf === undefined ? [actor] : [actor, onBehalfOf]

const namesOf = async (
  connection: Connection,
  realm: string,
  events: readonly EventRecord[],
): Promise<ReadonlyMap<string, string>> => {
  const ids = [...new Set(events.flatMap(peopleOf).filter(isUuid))].slice(0, mostNames)
  const { authRealm } = connection.target
  const names = new Map<string, string>()
  for (const id of ids)
    for (const place of new Set([realm, authRealm])) {
      const user = await userOrNull(connection, place, id)
      if (user !== null)
        names.set(id, place === realm ? user.username : `${user.username} (${place})`)
      if (user !== null) break
    }
  return names
}

const rowOf = (event: EventRecord, names: ReadonlyMap<string, string>): string[] => [
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

/** Ctrl-C ends it in order: the session that was begun for it is ended too. */
const untilStopped = (): AbortSignal => {
  const controller = new AbortController()
  process.removeAllListeners('SIGINT')
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => controller.abort())
  return controller.signal
}

const followAll = async (
  invocation: Invocation,
  connection: Connection,
  realm: string,
  filter: EventFilter,
): Promise<void> => {
  if (filter.to !== undefined)
    throw new CommandError(exitCodes.error, '--follow and --to exclude each other', {
      hint: 'leave one of them out',
    })
  const { limit = filter.from === undefined ? 10 : Number.POSITIVE_INFINITY } =
    invocation.flags as { limit?: number }
  const names = new Map<string, string>()
  await follow(invocation, connection, realm, {
    filter,
    limit,
    signal: untilStopped(),
    show: async (found) => {
      if (invocation.output === 'json') return found.forEach(printJsonLine)
      const unknown = found.filter((event) => peopleOf(event).some((id) => !names.has(id)))
      for (const [id, name] of await namesOf(connection, realm, unknown)) names.set(id, name)
      for (const event of found) printEvent(rowOf(event, names), event)
    },
  })
}

export const events = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async (connection, realm) => {
    const { limit = 50 } = invocation.flags as { limit?: number }
    const filter = await filterOf(invocation, connection, realm)
    if (invocation.flags['follow'] === true) return followAll(invocation, connection, realm, filter)
    const found = (await connection.api.events.newest(realm, filter, limit)).toReversed()
    if (invocation.output === 'json') {
      for (const event of found) printJsonLine(event)
      return
    }
    if (found.length === 0) return note(invocation, `realm ${realm} has no such events`)
    const names = await namesOf(connection, realm, found)
    printTable(
      ['time', 'event', 'outcome', 'actor', 'from', 'what', 'detail'],
      found.map((event) => rowOf(event, names)),
    )
  })
