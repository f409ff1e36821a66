/** Gateways and vendors on this machine: one HTTPS server that answers as it is told, and one for HTTP/2. */

import { once } from 'node:events'
import { createSecureServer, type IncomingHttpHeaders } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { makeCertificate } from '../platform/outgoing/certificates.ts'

export interface Received {
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Answered {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface VendorPeer {
  readonly port: number
  readonly ca: string
  readonly received: Received[]
  /** What the next requests are answered. */
  answer: (request: Received) => Answered
  /** How many connections there were. */
  connections(): number
  close(): Promise<void>
}

export const vendorHost = 'vendor.test'

const peerOn = async (
  server: Server,
  ca: string,
  listen: (take: (request: Received) => Answered) => void,
): Promise<VendorPeer> => {
  const received: Received[] = []
  let connections = 0
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const peer: VendorPeer = {
    port: (server.address() as AddressInfo).port,
    ca,
    received,
    answer: () => ({ status: 200, body: '{}' }),
    connections: () => connections,
    close: async () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  listen((request) => {
    received.push(request)
    return peer.answer(request)
  })
  return peer
}

export const startHttpsPeer = async (): Promise<VendorPeer> => {
  const { certificate, key } = makeCertificate([vendorHost])
  const server = createServer({ key, cert: certificate })
  return peerOn(server, certificate, (take) =>
    server.on('request', async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      const { url = '', method = '', headers } = request
      const answer = take({ path: url, method, headers, body })
      response.writeHead(answer.status, answer.headers).end(answer.body)
    }),
  )
}

export const startHttp2Peer = async (): Promise<VendorPeer> => {
  const { certificate, key } = makeCertificate([vendorHost])
  const server = createSecureServer({ key, cert: certificate })
  return peerOn(server, certificate, (take) =>
    server.on('stream', async (stream, headers) => {
      let body = ''
      for await (const chunk of stream.setEncoding('utf8')) body += chunk
      const { ':path': path = '', ':method': method = '' } = headers
      const answer = take({ path, method, headers, body })
      stream.respond({ ':status': answer.status, ...answer.headers })
      stream.end(answer.body)
    }),
  )
}
