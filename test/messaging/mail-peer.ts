/** A real SMTP server on this machine that keeps what it was sent. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { makeCertificate } from '../platform/outgoing/certificates.ts'

export interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly user: string | undefined
  readonly secure: boolean
  /** As it came over the wire. */
  readonly raw: string
}

export interface MailPeer {
  readonly port: number
  readonly ca: string
  readonly mails: Mail[]
  connections(): number
  close(): Promise<void>
}

export const mailUser = { username: 'acme', password: 'the-password-of-the-mail-server' }

export const startMailPeer = async (options: SMTPServerOptions = {}): Promise<MailPeer> => {
  const { certificate, key } = makeCertificate(['localhost', 'mail.test'])
  const mails: Mail[] = []
  let connections = 0
  const server = new SMTPServer({
    key,
    cert: certificate,
    logger: false,
    // Clients keep their connections; closing the server does not wait for them.
    closeTimeout: 1,
    onConnect: (_session, done) => {
      connections += 1
      done()
    },
    onAuth: ({ username, password }, _session, done) =>
      username === mailUser.username && password === mailUser.password
        ? done(null, { user: username })
        : done(new Error('no')),
    onData: (stream, { envelope, user, secure }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        mails.push({
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          user: user as string | undefined,
          secure,
          raw: Buffer.concat(chunks).toString(),
        })
        done()
      })
    },
    ...options,
  })
  // A client that does not trust us goes away in the middle of the handshake.
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    ca: certificate,
    mails,
    connections: () => connections,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** The head of a mail by name, folded lines joined; and what follows it. */
export const partsOf = (raw: string): { headers: Map<string, string>; body: string } => {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return { headers: new Map(headers), body: rest.join('\r\n\r\n') }
}
