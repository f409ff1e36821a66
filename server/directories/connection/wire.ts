/**
 * LDAP messages over one socket (RFC 4511), by the messages and the parser of ldapts. Not by its client: that one connects
 * again by itself, without the bind and without StartTLS, and takes an empty page with a cookie for the last one. Entries, of
 * which a sync reads thousands, are read without its parser: that one decodes every value, of which few are used.
 *
 * What a server sends is bounded in bytes and in time, and whatever cannot be parsed ends the connection.
 */

import type { Socket } from 'node:net'
import {
  type Message,
  MessageParser,
  type MessageResponse,
  SearchReference,
  UnbindRequest,
} from 'ldapts'
import { type Entry, entryIn } from '../entries/entry.ts'
import { createBerReader, createFrames, types } from './ber.ts'
import { DirectoryAway } from './errors.ts'

export interface Exchanged<T> {
  readonly response: MessageResponse
  readonly entries: readonly T[]
}

/** What is kept of an entry. Called when it arrives: an entry that waits for the others of its page outlives its memory. */
export type ReadEntry<T> = (entry: Entry) => T

export interface Wire {
  readonly isOpen: boolean
  /** Sends one request and gathers what comes back to it. Throws `DirectoryAway`, or what `read` throws. */
  exchange<T>(
    request: (messageId: number) => Message,
    limits: ExchangeLimits,
    read: ReadEntry<T>,
  ): Promise<Exchanged<T>>
  /** Lets go of the socket without closing it, for TLS on top of it. */
  detach(): void
  close(): void
}

export interface ExchangeLimits {
  readonly timeoutMs: number
  readonly maxBytes: number
}

interface Pending {
  readonly message: Message
  readonly maxBytes: number
  readonly take: (entry: Entry) => void
  readonly resolve: (response: MessageResponse) => void
  readonly reject: (error: Error) => void
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'failed'

export const openWire = (socket: Socket): Wire => {
  const pending = new Map<string, Pending>()
  const parser = new MessageParser()
  let nextId = 1
  let received = 0
  let isOpen = true

  const end = (reason: string): void => {
    if (!isOpen) return
    isOpen = false
    socket.destroy()
    for (const { reject } of pending.values()) reject(new DirectoryAway(reason))
    pending.clear()
  }

  const onEntry = (id: string, entry: Entry): void => {
    const asked = pending.get(id)
    try {
      asked?.take(entry)
    } catch (error) {
      pending.delete(id)
      asked?.reject(error instanceof Error ? error : new Error(String(error)))
    }
  }

  const onMessage = (message: MessageResponse): void => {
    const id = String(message.messageId)
    const asked = pending.get(id)
    // A late answer to what was given up, or a notice that nothing asked for (RFC 4511 §4.4). A continuation reference
    // (§4.5.3) is not followed: another server is never asked on the word of this one.
    if (!asked || message instanceof SearchReference) return
    pending.delete(id)
    asked.resolve(message)
  }

  const frames = createFrames((message) => {
    if (!isOpen) return
    const reader = createBerReader(message)
    reader.enter(types.sequence)
    const id = String(reader.integer())
    if (reader.peek() === types.searchEntry) onEntry(id, entryIn(message, reader))
    else parser.read(message, pending)
  })

  const onData = (data: Buffer): void => {
    received += data.length
    const most = Math.max(0, ...[...pending.values()].map(({ maxBytes }) => maxBytes))
    if (received > most) {
      end('the answer of the directory is too large')
      return
    }
    try {
      frames(data)
    } catch {
      end('the directory answers something that is not LDAP')
    }
  }
  const onError = (error: Error): void => end(`the connection broke (${codeOf(error)})`)
  const onClose = (): void => end('the directory closed the connection')

  parser.on('message', onMessage)
  parser.on('error', () => end('the directory answers something that is not LDAP'))
  socket.on('data', onData)
  socket.on('error', onError)
  socket.on('close', onClose)

  return {
    get isOpen() {
      return isOpen
    },
    exchange: async <T>(
      request: (messageId: number) => Message,
      { timeoutMs, maxBytes }: ExchangeLimits,
      read: ReadEntry<T>,
    ) => {
      if (!isOpen) throw new DirectoryAway('the connection is closed')
      const message = request(nextId)
      const id = String(nextId)
      nextId += 1
      received = 0
      const entries: T[] = []
      const { promise, resolve, reject } = Promise.withResolvers<MessageResponse>()
      const take = (entry: Entry): void => void entries.push(read(entry))
      pending.set(id, { message, maxBytes, take, resolve, reject })
      // What was asked stays unanswered on this connection, so it cannot be used for anything else.
      const timer = setTimeout(() => end('no answer in time'), timeoutMs)
      try {
        socket.write(message.write())
        return { response: await promise, entries }
      } finally {
        clearTimeout(timer)
      }
    },
    detach: () => {
      isOpen = false
      socket.off('data', onData)
      socket.off('error', onError)
      socket.off('close', onClose)
    },
    close: () => {
      if (!isOpen) return
      socket.write(new UnbindRequest({ messageId: nextId }).write())
      end('the connection was closed')
    },
  }
}
