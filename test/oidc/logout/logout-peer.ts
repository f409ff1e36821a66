/** The back-channel endpoint of a client: it keeps logout tokens and gives configured answers. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LogoutPeer {
  readonly url: string
  readonly tokens: string[]
  readonly types: string[]
  /** The status of its answers from now on. */
  answer(status: number): void
  close(): Promise<void>
}

export const openLogoutPeer = async (): Promise<LogoutPeer> => {
  const tokens: string[] = []
  const types: string[] = []
  let status = 200
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    tokens.push(new URLSearchParams(body).get('logout_token') ?? '')
    types.push(request.headers['content-type'] ?? '')
    response.writeHead(status).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/backchannel`,
    tokens,
    types,
    answer: (next) => {
      status = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
