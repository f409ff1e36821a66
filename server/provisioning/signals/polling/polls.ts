/**
 * Receivers that wait for events (long polling, RFC 8936 §2.5). A wait ends with an event of the stream, which another
 * node may have made, after a time, with the connection, and when the server stops.
 */

import { Problem } from '#schemas/problems.ts'
import { createRealmPlaces } from '#server/http/limits/realm-places.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'

/** A receiver that waits: it hears of every event that is committed after it began. */
export interface WaitingPoll {
  /** Until there may be an event that was not there at the last look; at most `ms`. */
  rest(ms: number): Promise<void>
  end(): void
}

export interface Polls {
  /** Too many receivers that wait are refused. */
  begin(stream: Pick<SignalStreamRow, 'id' | 'realm'>, gone: AbortSignal): WaitingPoll
  /** Receivers of these streams that wait on this node look again. */
  wake(streamIds: Iterable<string>): void
  /** Ends the waits, and lets none begin. */
  close(): void
  isClosed(): boolean
}

/** What nodes tell each other by. */
const topic = 'signal-events '
export const pollTopic = (streamId: string): string => `${topic}${streamId}`

/** On this node, half of them of one realm: each is a connection and a timer. */
const mostWaiting = 500
/** A receiver polls a stream with one request at a time; a second one replaces one whose connection is lost. */
const mostOfStream = 2
const retryAfter = 5
/** How soon a receiver looks again although nothing told it to: where notifications arrive, and where they do not. */
const lookMs = { listening: 2_000, deaf: 500 }

type Ring = () => void

export const createPolls = (storage: Pick<Storage, 'alone' | 'listening' | 'subscribe'>): Polls => {
  const waiting = new Map<string, Set<Ring>>()
  const places = createRealmPlaces(mostWaiting)
  let closed = false

  const wake: Polls['wake'] = (streamIds) => {
    for (const id of streamIds) for (const ring of waiting.get(id) ?? []) ring()
  }
  const unsubscribe = storage.subscribe((told) => {
    if (told === null) wake(waiting.keys())
    else if (told.startsWith(topic)) wake([told.slice(topic.length)])
  })

  /** No other process makes events where this one has the database alone. */
  const longest = (): number => {
    if (storage.alone) return Number.POSITIVE_INFINITY
    return storage.listening() ? lookMs.listening : lookMs.deaf
  }

  return {
    begin: ({ id, realm }, gone) => {
      const rings = waiting.get(id) ?? new Set()
      const leave = rings.size < mostOfStream ? places.take(realm) : undefined
      if (!leave)
        throw new Problem('rate-limited', 'Too many requests wait for events of this stream.', {
          extra: { retryAfter },
        })
      let isRung = closed
      let resolve: Ring | undefined
      const ring = (): void => {
        isRung = true
        resolve?.()
      }
      waiting.set(id, rings.add(ring))
      gone.addEventListener('abort', ring, { once: true })
      return {
        rest: async (ms) => {
          if (!isRung && !gone.aborted) {
            const rung = Promise.withResolvers<void>()
            resolve = rung.resolve
            const timer = setTimeout(resolve, Math.min(ms, longest()))
            await rung.promise
            clearTimeout(timer)
          }
          isRung = false
        },
        end: () => {
          leave()
          gone.removeEventListener('abort', ring)
          rings.delete(ring)
          if (rings.size === 0) waiting.delete(id)
        },
      }
    },
    wake,
    close: () => {
      closed = true
      unsubscribe()
      wake(waiting.keys())
    },
    isClosed: () => closed,
  }
}
