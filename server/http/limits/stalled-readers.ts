/**
 * A client that reads nothing of its response keeps all of it in memory, for as long as it likes, and requests that it has
 * sent after it wait. Such a connection is ended when nothing could be written to it for the timeout of the server
 * (`connectionTimeout` of Fastify). Node.js would also end one whose handler takes as long, so that only those with
 * something to write are ended here; idle ones, which have no response, are left to Node.js.
 */

import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const endWhenStalled = (socket: Socket): void => {
  if (socket.writableLength > 0) socket.destroy()
}

export const endStalledReaders = (app: FastifyInstance): void => {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.raw.on('timeout', endWhenStalled)
    done()
  })
}
