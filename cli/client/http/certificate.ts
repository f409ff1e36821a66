/** The certificate that a server shows, as far as an operator must look after it. */

import { connect } from 'node:tls'

export interface ServerCertificate {
  readonly subject: string
  readonly issuer: string
  readonly expiresAt: number
}

const timeoutMs = 5_000

/** Whether it is trusted is for the requests to say: here it is only looked at. Null where none came. */
export const certificateOf = (server: string): Promise<ServerCertificate | null> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(server)
    const host = hostname.replaceAll(/^\[|\]$/g, '')
    const socket = connect({
      host,
      port: Number(port || 443),
      ...(/^[\d.:]+$/.test(host) ? {} : { servername: host }),
      rejectUnauthorized: false,
      timeout: timeoutMs,
    })
    const end = (found: ServerCertificate | null): void => {
      socket.destroy()
      resolve(found)
    }
    socket.once('error', () => end(null))
    socket.once('timeout', () => end(null))
    socket.once('secureConnect', () => {
      const { subject, issuer, valid_to: until } = socket.getPeerCertificate()
      const name = (of: typeof subject | undefined): string => [of?.CN ?? ''].flat().join(', ')
      end({ subject: name(subject), issuer: name(issuer), expiresAt: Date.parse(until) })
    })
  })
