/** A service provider that is told over SOAP. */

import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Peer {
  readonly url: string
  /** LogoutRequests that came, as they were sent. */
  readonly envelopes: string[]
  readonly headers: IncomingMessage['headers'][]
  /** What is answered to the LogoutRequest of an ID. */
  answer: (id: string) => { status: number; body: string }
  close(): void
}

export const envelope = (message: string): string =>
  `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${message}</s:Body></s:Envelope>`

export const openPeer = async (): Promise<Peer> => {
  const server: Server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const text = Buffer.concat(parts).toString()
    peer.envelopes.push(text)
    peer.headers.push(request.headers)
    const { status, body } = peer.answer(/ ID="([^"]*)"/.exec(text)?.[1] ?? '')
    response.writeHead(status, { 'content-type': 'text/xml' }).end(body)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const peer: Peer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/soap`,
    envelopes: [],
    headers: [],
    answer: () => ({ status: 503, body: '' }),
    close: () => server.close(),
  }
  return peer
}
