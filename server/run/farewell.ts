/**
 * Between the start of a shutdown and the end of idle connections. A request that is on its way to a connection that closes
 * is lost, and its client cannot tell whether it was handled (RFC 9112 §9.3.1). So each answer of this
 * time announces that its connection closes (`Connection: close`, §9.6), which Fastify adds once it closes.
 */

import type { Server } from 'node:http'
import { Server as Listener } from 'node:net'

/** A client that has sent nothing for so long is not about to. */
const quietMs = 200
const mostMs = 1_000

/** New connections are refused at once, and nothing else changes: `close` of an HTTP server also ends idle connections. */
export const refuseConnections = (server: Server): void => {
  if (server.listening) Listener.prototype.close.call(server)
}

/** Resolves when no request has come for a moment, or many moments have passed. */
export const untilQuiet = (server: Pick<Server, 'on' | 'off'>): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(quiet)
      clearTimeout(most)
      server.off('request', heard)
      resolve()
    }
    const quiet = setTimeout(end, quietMs)
    const most = setTimeout(end, mostMs)
    const heard = (): void => {
      quiet.refresh()
    }
    server.on('request', heard)
  })
