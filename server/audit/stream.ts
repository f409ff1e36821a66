/**
 * A live stream of events (server-sent events, WHATWG HTML §9.2). A stream reads
 * the outbox from its own position on, so it shows what any node has committed, in order, and goes on where it was
 * when the client comes back with the id it saw last. Nothing is read that the client has not made room for.
 */

import { Readable } from 'node:stream'
import type { RawBuilder } from 'kysely'
import type { AuditRecord } from '#schemas/wire/events.ts'
import { createRealmPlaces } from '#server/http/limits/realm-places.ts'
import type { Outbox, Position } from './outbox.ts'
import type { ReadRecords } from './records.ts'

export interface StreamOptions {
  readonly realm: string
  /** Which events are wanted, as a condition. */
  readonly where: RawBuilder<boolean>
  /** From where on; what comes from now on where it is not given. */
  readonly after?: Position | undefined
  /** Checks the authorization before the first event, and periodically. */
  readonly stillAllowed: () => Promise<boolean>
}

export interface EventStreams {
  /** Undefined where too many are open, of all realms or of this one. */
  open(options: StreamOptions): Readable | undefined
  /** Ends all of them. */
  close(): void
}

export interface StreamParts {
  readonly outbox: Pick<Outbox, 'read' | 'end' | 'listen'>
  readonly readRecords: ReadRecords
  /** Others may commit events without this node hearing of it. */
  readonly shared: boolean
  readonly heartbeatMs?: number
}

export const isPosition = (text: string): boolean => /^\d{1,20}:\d{1,16}$/.test(text)

const batch = 100
/** On this node, half of them of one realm. */
const mostStreams = 100
/** A proxy closes a connection on which nothing moves; a client that has died is noticed. */
const defaultHeartbeatMs = 15_000
/** A client that takes nothing for so many heartbeats is gone. */
const patience = 4
const pollMs = 1_000
/** How soon what transactions under way have held back is asked for again. */
const unsettledMs = 50
const reconnectMs = 3_000

const textOf = (position: Position, record: AuditRecord): string =>
  `id: ${position}\ndata: ${JSON.stringify(record)}\n\n`

/** Moves the id that the client remembers, and is no event to it. */
const heartbeatOf = (position: Position): string => `:\nid: ${position}\n\n`

export const createEventStreams = (parts: StreamParts): EventStreams => {
  const { outbox, readRecords, shared, heartbeatMs = defaultHeartbeatMs } = parts
  const open = new Set<Readable>()
  const places = createRealmPlaces(mostStreams)

  /** What wakes a stream: an event of its realm, the next look, its end. */
  const createBell = (realm: string, ended: AbortSignal) => {
    let ring: (() => void) | undefined
    let rung = false
    const wake = (): void => {
      rung = true
      ring?.()
    }
    const unlisten = outbox.listen((record) => {
      if (record.realm === realm) wake()
    })
    ended.addEventListener('abort', () => {
      unlisten()
      wake()
    })
    return async (ms: number): Promise<void> => {
      if (!rung) {
        const { promise, resolve } = Promise.withResolvers<void>()
        ring = resolve
        const timer = setTimeout(resolve, ms).unref()
        await promise
        clearTimeout(timer)
      }
      rung = false
    }
  }

  const follow = async function* (
    { realm, where, after, stillAllowed }: StreamOptions,
    ended: AbortSignal,
  ): AsyncGenerator<string> {
    const rest = createBell(realm, ended)
    let position = after ?? (await outbox.end())
    let toldAt = Date.now()
    yield `retry: ${reconnectMs}\n${heartbeatOf(position)}`
    while (!ended.aborted) {
      // Asked first: what is before it and not in the answer is not wanted.
      const end = await outbox.end()
      const passage = await outbox.read(position, batch, where)
      const { events, more } = passage
      position = events.length > 0 || more ? passage.position : end
      const due = Date.now() - toldAt >= heartbeatMs
      if (events.length > 0 || due) {
        if (!(await stillAllowed())) return
        const records = await readRecords(events)
        toldAt = Date.now()
        yield records.length > 0
          ? records.map((record, i) => textOf(events[i]?.position ?? '', record)).join('')
          : heartbeatOf(position)
      }
      if (events.length === batch) continue
      const left = Math.max(0, toldAt + heartbeatMs - Date.now())
      await rest(more ? unsettledMs : shared ? Math.min(pollMs, left) : left)
    }
  }

  /** Ends a stream whose client does not read. */
  const watch = (stream: Readable, ended: AbortSignal): void => {
    let unmoved = 0
    const watching = setInterval(() => {
      unmoved = stream.readableLength > 0 ? unmoved + 1 : 0
      if (unmoved >= patience) stream.destroy()
    }, heartbeatMs).unref()
    ended.addEventListener('abort', () => clearInterval(watching))
  }

  return {
    open: (options) => {
      const leave = places.take(options.realm)
      if (!leave) return undefined
      const ending = new AbortController()
      const stream = Readable.from(follow(options, ending.signal), { objectMode: false })
      open.add(stream)
      // A generator that rests is not ended before it wakes: it is woken first.
      const destroy = stream._destroy.bind(stream)
      stream._destroy = (error, done) => {
        ending.abort()
        destroy(error, done)
      }
      stream.once('close', () => {
        open.delete(stream)
        leave()
      })
      watch(stream, ending.signal)
      return stream
    },
    close: () => {
      for (const stream of open) stream.destroy()
    },
  }
}
