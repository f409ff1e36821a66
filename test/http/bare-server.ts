/** The HTTP floor with nothing on it, and a log that a test can read. */
import { type IncomingHttpHeaders, request } from 'node:http'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { loadConfig } from '#server/config/index.ts'
import { createHttp, type HttpOptions } from '#server/http/server.ts'

export interface BareServer {
  readonly app: FastifyInstance
  /** The lines logged so far. */
  readonly log: () => Record<string, unknown>[]
}

export const bareServer = ({
  env = {},
  level = 'info',
  ...options
}: Partial<HttpOptions> & { env?: Record<string, string>; level?: string } = {}): BareServer => {
  const lines: string[] = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk))
      done()
    },
  })
  const app = createHttp({
    config: loadConfig({ env }),
    logger: pino({ level }, stream),
    clock: { now: () => 1_700_000_000_000 },
    ...options,
  })
  return { app, log: () => lines.map((line) => JSON.parse(line)) }
}

export interface RawResponse {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Sends the target as it is written; `inject` and `fetch` would tidy it up first. */
export const rawGet = async (base: string, path: string): Promise<RawResponse> => {
  const { hostname, port } = new URL(base)
  const { promise, resolve, reject } = Promise.withResolvers<RawResponse>()
  request({ hostname, port, path, agent: false })
    .once('error', reject)
    .once('response', (response) => {
      const { statusCode: status, headers } = response
      text(response).then((body) => resolve({ status, headers, body }), reject)
    })
    .end()
  return promise
}
