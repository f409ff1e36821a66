/**
 * A webhook receiver with real TLS, by default under the name localhost: it keeps requests and gives configured answers.
 */

import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Webhook } from 'standardwebhooks'
import { makeCertificate } from '../platform/outgoing/certificates.ts'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** As it came. */
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  readonly json: any
}

export type Answering = (response: ServerResponse, received: Received) => void

export interface Receiver {
  readonly url: (path: string) => string
  readonly received: Received[]
  readonly at: (path: string) => Received[]
  /** PEM, for processes that are to trust it. */
  readonly certificate: string
  /** How it answers from now on. */
  answer(how: number | Answering): void
  close(): Promise<void>
}

/** A server in this process may call it: its certificate is trusted until it is closed. */
export const openReceiver = async (
  host = 'localhost',
  address = '127.0.0.1',
): Promise<Receiver> => {
  const { certificate, key } = makeCertificate([host])
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, certificate])
  const received: Received[] = []
  let answering: Answering = (response) => response.writeHead(204).end()
  const server = createServer({ key, cert: certificate }, async (request, response) => {
    const body = (await request.toArray()).join('')
    const one = {
      path: request.url ?? '',
      headers: request.headers,
      body,
      json: body.startsWith('{') ? JSON.parse(body) : null,
    }
    received.push(one)
    answering(response, one)
  })
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: (path) => `https://${host}:${port}${path}`,
    received,
    at: (path) => received.filter((one) => one.path === path),
    certificate,
    answer: (how) => {
      answering = typeof how === 'number' ? (response) => response.writeHead(how).end() : how
    },
    close: () =>
      new Promise((resolve) => {
        setDefaultCACertificates(trusted)
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const idOf = ({ headers }: Received): string => String(headers['webhook-id'])

/** As a receiver does: the HMAC over the raw body, in hexadecimal. */
export const hasPlainSignature = ({ headers, body }: Received, secret: string): boolean =>
  headers['x-hub-signature-256'] ===
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

/** As a receiver does that uses the library of Standard Webhooks. */
export const hasStandardSignature = ({ headers, body }: Received, secret: string): boolean => {
  const webhook = secret.startsWith('whsec_')
    ? new Webhook(secret)
    : new Webhook(secret, { format: 'raw' })
  try {
    webhook.verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}
