/**
 * The audit trail as it grows: what is there already, then everything new, over a stream that is taken up again where it
 * broke off. A server that has no streams is asked again and again instead.
 */

import { setTimeout } from 'node:timers/promises'
import type { EventRecord } from '#schemas/wire/events.ts'
import { isProblem, UnreachableError } from '../../client/http/errors.ts'
import type { EventFilter } from '../../client/records.ts'
import type { OnRealm } from '../../invocation/realm.ts'
import { note } from '../../views/human/elements/note.ts'

export interface FollowOptions {
  readonly filter: EventFilter
  /** How many of those that are there already. */
  readonly limit: number
  readonly signal: AbortSignal
  readonly show: (events: readonly EventRecord[]) => Promise<void>
}

const pollMs = 2000
const longestPause = 30_000
/** So many ids are remembered; more than can come at one moment. */
const mostSeen = 5000

/** Shows each event once, in the order of their coming. */
const createShowing = (show: FollowOptions['show']) => {
  const seen = new Set<string>()
  let shown = Promise.resolve()
  return (events: readonly EventRecord[]): Promise<void> => {
    const fresh = events.filter(({ id }) => !seen.has(id))
    for (const { id } of fresh) seen.add(id)
    for (const id of seen) {
      if (seen.size <= mostSeen) break
      seen.delete(id)
    }
    if (fresh.length > 0) shown = shown.then(() => show(fresh))
    return shown
  }
}

type Showing = ReturnType<typeof createShowing>

const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  setTimeout(milliseconds, undefined, { signal }).catch(() => undefined)

/** From the moment of the newest one on; those of the same moment are known by their ids. */
const poll = async (
  { api, realm }: OnRealm,
  { filter, signal }: FollowOptions,
  showing: Showing,
  newest: string | undefined,
): Promise<void> => {
  let from = newest ?? new Date().toISOString()
  while (!signal.aborted) {
    await pause(pollMs, signal)
    if (signal.aborted) return
    const query = { ...filter, from }
    const found = await api.events.newest(realm, query, Number.POSITIVE_INFINITY)
    from = found[0]?.ts ?? from
    await showing(found.toReversed())
  }
}

export const follow = async (
  call: { readonly quiet: boolean },
  place: OnRealm,
  options: FollowOptions,
): Promise<void> => {
  const { filter, limit, show } = options
  const broken = new AbortController()
  const signal = AbortSignal.any([options.signal, broken.signal])
  const { api, realm } = place
  const showing = createShowing(show)
  let newest: string | undefined
  const showPast = async (): Promise<void> => {
    const past = limit === 0 ? [] : await api.events.newest(realm, filter, limit)
    newest = past[0]?.ts
    await showing(past.toReversed())
  }

  let after: string | undefined
  let failures = 0
  let past: Promise<void> | undefined
  const waiting: EventRecord[] = []
  let isPastShown = false
  const onOpen = (): void => {
    failures = 0
    // From here on no event is missed, and a signal ends the stream in order.
    if (past === undefined) note(call, `following the events of realm ${realm}`)
    // What comes while the past is read waits for it.
    past ??= showPast().then(() => {
      isPastShown = true
      return showing(waiting)
    })
    past.catch(() => broken.abort())
  }
  const onEvent = (event: EventRecord | null, id: string | undefined): void => {
    after = id ?? after
    if (event === null) return
    if (isPastShown) void showing([event])
    else waiting.push(event)
  }
  while (!signal.aborted) {
    try {
      await api.events.follow(realm, { filter, after, onOpen, onEvent, signal })
      await past
    } catch (error) {
      // Told to end before the answer came.
      if (signal.aborted) break
      if (isProblem(error, 404) && past === undefined) {
        await showPast()
        return poll(place, options, showing, newest)
      }
      if (!(error instanceof UnreachableError) || past === undefined) throw error
      if (failures === 0) note(call, `${error.message}; trying again`)
      failures += 1
    }
    if (!signal.aborted) await pause(Math.min(1000 * 2 ** failures, longestPause), signal)
  }
  await past
}
