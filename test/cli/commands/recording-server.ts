/** A server that answers as an iamctl server does at first sight, and keeps all that it receives. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export interface RecordingServer {
  readonly url: string
  /** Request lines, headers and bodies, in the order of arrival. */
  readonly received: string[]
}

export type Answer = (incoming: IncomingMessage, answer: ServerResponse, url: string) => void

const json = (answer: ServerResponse, body: unknown): void => {
  answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const asIamctl: Answer = ({ method, url: path = '' }, answer, url) => {
  const issuer = `${url}/realms/master`
  if (path.endsWith('/.well-known/openid-configuration'))
    return json(answer, { issuer, token_endpoint: `${issuer}/token` })
  if (path.endsWith('/token')) return json(answer, { access_token: 'granted-token' })
  if (path.endsWith('/login')) {
    answer.setHeader('set-cookie', ['XSRF-TOKEN=abc', 'iam-session-master=given-session'])
    return void answer.writeHead(method === 'POST' ? 303 : 200).end('<html></html>')
  }
  return json(answer, { username: 'admin', realm: 'master', about: 'master', permissions: [] })
}

/** Lives as long as the test; `respond` answers instead, where it is given. */
export const startRecordingServer = async (
  respond: Answer = asIamctl,
): Promise<RecordingServer> => {
  const received: string[] = []
  let url = ''
  const server = createServer((incoming, answer) => {
    void text(incoming).then((body) => {
      const headers = JSON.stringify(incoming.rawHeaders)
      received.push(`${incoming.method} ${incoming.url} ${headers} ${body}`)
      respond(incoming, answer, url)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, received }
}
