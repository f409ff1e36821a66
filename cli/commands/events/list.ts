/** `iamctl events`: the audit trail. */

import { nearest } from '#schemas/text/typos.ts'
import { categories, eventTypes } from '#schemas/wire/event-types.ts'
import type { EventFilter } from '../../client/records.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { conversation } from '../../invocation/command.ts'
import { choice, flags, parsed, text, toggle, type Values } from '../../invocation/flags.ts'
import { limit } from '../../invocation/limit.ts'
import { type OnRealm, openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import type { EventReader, EventView } from '../../views/human/live/events.ts'
import { eventLines } from '../../views/json/events.ts'
import { momentOf } from './moments.ts'
import { verifyEvents } from './verify.ts'

const eventFlags = {
  type: text('<type>', 'such as LOGIN_FAILURE or ADMIN_UPDATE'),
  actor: text('<user>', 'user who caused the event: username, email address or id'),
  outcome: choice('<outcome>', 'how it ended', ['SUCCESS', 'FAILURE']),
  category: text('<category>', 'AUTHN, ADMIN or SECURITY'),
  from: text('<time>', '2026-01-31, 2026-01-31T08:00:00Z, or ago: 15m, 2h, 7d'),
  to: text('<time>', 'the same'),
  limit: parsed('<number>', 'number of newest events, or "all"', limit, { fallback: '50' }),
  follow: toggle('print new events until Ctrl-C, after the last 10', { short: 'f' }),
}

type EventValues = Values<typeof eventFlags>

/** The word as the server spells it. */
const oneOf = (
  flag: 'type' | 'category',
  given: string | undefined,
  known: readonly string[],
): string | undefined => {
  if (given === undefined) return undefined
  const found = known.find((one) => one === given.toUpperCase().replaceAll('-', '_'))
  if (found !== undefined) return found
  const meant = nearest(given, known)
  throw new CommandError(exitCodes.error, `there is no event ${flag} "${given}"`, {
    hint: meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`,
  })
}

const filterOf = async (given: EventValues, place: OnRealm): Promise<EventFilter> => {
  const { actorOf } = await import('./names.ts')
  const now = Date.now()
  const [from, to] = (['from', 'to'] as const).map((flag) => {
    const when = given[flag]
    return when === undefined ? undefined : momentOf(flag, when, now)
  })
  const filter = {
    type: oneOf('type', given.type, Object.keys(eventTypes)),
    category: oneOf('category', given.category, categories),
    outcome: given.outcome,
    from,
    to,
    actor: await actorOf(place, given.actor),
  }
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
}

/** Ctrl-C ends it in order: the session that was begun for it is ended too. */
const untilStopped = (): AbortSignal => {
  const controller = new AbortController()
  process.removeAllListeners('SIGINT')
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => controller.abort())
  return controller.signal
}

const followAll = async (
  place: OnRealm,
  filter: EventFilter,
  given: number | undefined,
  view: EventView,
  reader: EventReader,
): Promise<void> => {
  if (filter.to !== undefined)
    throw new CommandError(exitCodes.error, '--follow and --to exclude each other', {
      hint: 'leave one of them out',
    })
  const { follow } = await import('./follow.ts')
  await follow(reader, place, {
    filter,
    limit: given ?? (filter.from === undefined ? 10 : Number.POSITIVE_INFINITY),
    signal: untilStopped(),
    show: (found) => view.more(found, reader),
  })
}

export const events = conversation({
  name: 'events',
  description: 'show the audit trail of a realm, newest last',
  help: `
With -o json every line is one event.

Examples:
  iamctl events --realm acme --type LOGIN_FAILURE --from 1h
  iamctl events --realm acme --category ADMIN --actor alice --limit 10
  iamctl events --realm acme --follow --category SECURITY
  iamctl events --realm acme -f --outcome FAILURE -o json | jq .detail
  iamctl events --realm acme --from 7d --limit all -o json > events.ndjson`,
  flags: flags(eventFlags, realmFlags),
  commands: [verifyEvents],
  views: {
    human: async () => (await import('../../views/human/live/events.ts')).eventView(),
    json: () => eventLines,
  },
  run: async (call, view: EventView) => {
    const place = await openRealm(call)
    const { api, realm } = place
    const { namesOf } = await import('./names.ts')
    const filter = await filterOf(call.flags, place)
    const reader = { realm, quiet: call.quiet, namesOf: namesOf.bind(null, place) }
    const { follow: follows, limit: given } = call.flags
    if (follows) await followAll(place, filter, given, view, reader)
    else {
      const found = await api.events.newest(realm, filter, given ?? 50)
      await view.list(found.toReversed(), reader)
    }
  },
})
