/** The application behind Apache: it answers the request headers as JSON. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Application {
  readonly url: string
  readonly close: () => void
}

export const openApplication = async (): Promise<Application> => {
  const server = createServer(({ headers }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(headers))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  }
}
