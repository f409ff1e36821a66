/**
 * LDAP messages over one socket (RFC 4511), by the messages and the parser of ldapts. Not by its client: that one connects
 * again by itself, without the bind and without StartTLS, and takes an empty page with a cookie for the last one.
 *
 * What a server sends is bounded in bytes and in time, and whatever cannot be parsed ends the connection.
 */

import type { Socket } from 'node:net'
import {
  type Message,
  MessageParser,
  type MessageResponse,
  SearchEntry,
  SearchReference,
  UnbindRequest,
} from 'ldapts'
import { DirectoryAway } from './errors.ts'

export interface Exchanged {
  readonly response: MessageResponse
  readonly entries: readonly SearchEntry[]
}

export interface Wire {
  readonly isOpen: boolean
  /** Sends one request and gathers what comes back to it. Throws `DirectoryAway`. */
  exchange(request: (messageId: number) => Message, limits: ExchangeLimits): Promise<Exchanged>
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
  readonly entries: SearchEntry[]
  readonly resolve: (exchanged: Exchanged) => void
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

  const onMessage = (message: MessageResponse): void => {
    const id = String(message.messageId)
    const asked = pending.get(id)
    // A late answer to what was given up, or a notice that nothing asked for (RFC 4511 §4.4).
    if (!asked) return
    if (message instanceof SearchEntry) {
      asked.entries.push(message)
      return
    }
    // Another server is never asked on the word of this one.
    if (message instanceof SearchReference) return
    pending.delete(id)
    asked.resolve({ response: message, entries: asked.entries })
  }

  const onData = (data: Buffer): void => {
    received += data.length
    const most = Math.max(0, ...[...pending.values()].map(({ maxBytes }) => maxBytes))
    if (received > most) {
      end('the answer of the directory is too large')
      return
    }
    try {
      parser.read(data, pending)
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
    exchange: async (request, { timeoutMs, maxBytes }) => {
      if (!isOpen) throw new DirectoryAway('the connection is closed')
      const message = request(nextId)
      const id = String(nextId)
      nextId += 1
      received = 0
      const { promise, resolve, reject } = Promise.withResolvers<Exchanged>()
      pending.set(id, { message, maxBytes, entries: [], resolve, reject })
      // What was asked stays unanswered on this connection, so it cannot be used for anything else.
      const timer = setTimeout(() => end('no answer in time'), timeoutMs)
      try {
        socket.write(message.write())
        return await promise
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
