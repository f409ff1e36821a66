/** Requests over one HTTP/2 connection, opened on demand and closed when idle. */

import { once } from 'node:events'
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import { isIP } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { canonicalHost } from '#server/platform/outgoing/addresses.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { dial } from '#server/platform/outgoing/dial.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { DeliveryError } from './driver.ts'
import { fromOutgoing } from './gateway.ts'

export interface Http2Options {
  readonly outgoing: Outgoing
  /** Its path does not count. */
  readonly url: string
  /** Certificates (PEM) of authorities that are trusted instead of the public ones. */
  readonly ca?: string | undefined
}

export interface Http2Response {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Http2Client {
  /** Throws a DeliveryError when there is no answer. */
  post(request: {
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }): Promise<Http2Response>
  close(): void
}

const timeoutMs = 10_000
const idleMs = 5 * 60_000
const maxCharacters = 16_384

const secured = async ({ outgoing, ca }: Http2Options, target: URL): Promise<TLSSocket> => {
  const host = canonicalHost(target.hostname)
  const socket = await dial(outgoing, { host, port: Number(target.port || 443), timeoutMs })
  const secure = connectTls({
    socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ALPNProtocols: ['h2'],
  })
  try {
    await once(secure, 'secureConnect', { signal: AbortSignal.timeout(timeoutMs) })
    return secure
  } catch {
    secure.on('error', () => undefined)
    secure.destroy()
    throw new DeliveryError(`${host}: no trusted TLS connection`, { retryable: true })
  }
}

export const createHttp2 = (options: Http2Options): Http2Client => {
  let current: Promise<ClientHttp2Session> | undefined

  const open = async (): Promise<ClientHttp2Session> => {
    const target = options.outgoing.checkUrl(options.url)
    const socket = await secured(options, target)
    const session = connect(target.origin, { createConnection: () => socket })
    // The error of a session is that of each of its requests, which tell it.
    session.on('error', () => undefined)
    session.setTimeout(idleMs, () => session.close())
    session.unref()
    return session
  }

  /** One connection for all who ask at the same time; another one when it is over. */
  const session = (): Promise<ClientHttp2Session> => {
    if (current) return current
    const opening = open()
    const forget = (): void => {
      if (current === opening) current = undefined
    }
    opening.then((opened) => {
      opened.once('goaway', forget)
      opened.once('close', forget)
    }, forget)
    current = opening
    return opening
  }

  return {
    async post({ path, headers, body }) {
      const signal = AbortSignal.timeout(timeoutMs)
      try {
        const stream = (await session()).request(
          { ':method': 'POST', ':path': path, ...headers, 'content-type': 'application/json' },
          { signal },
        )
        stream.end(body)
        const [answer] = (await once(stream, 'response', { signal })) as [IncomingHttpHeaders]
        let text = ''
        for await (const chunk of stream.setEncoding('utf8')) {
          text += chunk
          if (text.length > maxCharacters) break
        }
        return { status: Number(answer[':status']), headers: answer, body: text }
      } catch (error) {
        if (error instanceof DeliveryError || error instanceof OutgoingError)
          throw fromOutgoing(error)
        const code = error instanceof Error && 'code' in error ? error.code : 'failed'
        throw new DeliveryError(`no answer over HTTP/2 (${code})`, { retryable: true })
      }
    },
    close() {
      current?.then(
        (opened) => opened.close(),
        () => undefined,
      )
      current = undefined
    },
  }
}
