/**
 * The loopback redirect of a sign-in: a port of 127.0.0.1, for one response (RFC 8252 §7.3). A response without the
 * state of this sign-in is refused: any page can send a browser here (RFC 6749 §10.12).
 */

import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LoopbackAnswer {
  readonly parameters: URLSearchParams
  /** What the person at the browser reads in the end. */
  readonly show: (heading: string, text: string) => Promise<void>
}

export interface Loopback {
  readonly redirectUri: string
  readonly answer: Promise<LoopbackAnswer>
  readonly close: () => void
}

const path = '/callback'

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const pageOf = (heading: string, text: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<title>iamctl</title><body style="font-family:system-ui;margin:4rem auto;max-width:32rem;padding:0 1rem">` +
  `<h1>${escaped(heading)}</h1><p>${escaped(text)}</p></body></html>`

const send = (response: ServerResponse, status: number, page: string): Promise<void> =>
  new Promise((resolve) => {
    response.writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    })
    response.end(page, resolve)
  })

const equal = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

export const listenOnLoopback = async (state: string): Promise<Loopback> => {
  let take: (answer: LoopbackAnswer) => void
  let isTaken = false
  const answer = new Promise<LoopbackAnswer>((resolve) => {
    take = resolve
  })

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { port } = server.address() as AddressInfo
    const url = URL.parse(request.url ?? '', `http://127.0.0.1:${port}`)
    // A name that leads to this address is not how the realm sends the browser here (DNS rebinding).
    const isOurs =
      request.method === 'GET' &&
      url?.pathname === path &&
      request.headers.host === `127.0.0.1:${port}` &&
      equal(url.searchParams.get('state') ?? '', state)
    if (!isOurs || isTaken || !url)
      return send(
        response,
        isTaken ? 410 : 400,
        pageOf('Nothing waits here', 'This is not the answer to a sign-in of iamctl.'),
      )
    isTaken = true
    const show: LoopbackAnswer['show'] = (heading, text) =>
      send(response, 200, pageOf(heading, text))
    return take({ parameters: url.searchParams, show })
  }

  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    answer,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
