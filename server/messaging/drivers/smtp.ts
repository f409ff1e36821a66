/** Mail by SMTP: a pool of connections a provider, TLS or STARTTLS, certificates always checked. */

import { isIP } from 'node:net'
import type { Transporter } from 'nodemailer'
import type SMTPPool from 'nodemailer/lib/smtp-pool/index.js'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { dial } from '#server/platform/outgoing/dial.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import {
  DeliveryError,
  type DriverTools,
  firstMissing,
  type MessagingDriver,
  type Provider,
} from '../driver.ts'
import { fromOutgoing } from '../gateway.ts'
import { createProviderCache } from '../provider-cache.ts'
import { oneLine } from '../recipients.ts'

type Pool = Transporter<SMTPPool.SentMessageInfo, SMTPPool.Options>

const timeoutMs = 10_000

const optionsOf = (
  { config, secret }: Provider,
  outgoing: Outgoing,
): SMTPPool.Options & { forceAuth: boolean } => {
  const { host = '', port = 587, secure = false, requireTls = true, username, ca } = config
  return {
    pool: true,
    host,
    port,
    secure,
    requireTLS: !secure && requireTls,
    ...(username === undefined ? {} : { auth: { user: username, pass: secret ?? '' } }),
    // A server that offers no authentication is an error, not a reason to go without.
    forceAuth: true,
    tls: {
      minVersion: 'TLSv1.2',
      // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED does not count here.
      rejectUnauthorized: true,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca }),
    },
    maxConnections: 3,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: 3 * timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket: (_options, callback) => {
      dial(outgoing, { host, port, timeoutMs }).then(
        (connection) => callback(null, { connection }),
        (error) => callback(error, undefined),
      )
    },
  }
}

interface SmtpError {
  readonly code?: string
  readonly responseCode?: number
  readonly message?: string
}

/** The error of a handshake comes under the code of the socket: its words, which are Node's own, tell it apart. */
const isTlsError = ({ code, responseCode, message = '' }: SmtpError): boolean =>
  code === 'ETLS' || (responseCode === undefined && /certificate|TLS|altnames/i.test(message))

/** Reports status codes only: the text of the mail server is untrusted. */
const explain = (error: unknown): DeliveryError => {
  if (error instanceof OutgoingError) return fromOutgoing(error)
  const failure = error as SmtpError
  const { code = 'failed', responseCode } = failure
  if (isTlsError(failure))
    return new DeliveryError(
      'no trusted TLS connection to the mail server: see secure, requireTls and ca of the provider',
    )
  if (responseCode === undefined)
    return new DeliveryError(`the mail server does not answer (${code})`, {
      retryable: code !== 'EAUTH',
    })
  const what = code === 'EAUTH' ? 'user name or password' : 'message'
  return new DeliveryError(`the mail server refused the ${what} (${responseCode})`, {
    retryable: responseCode < 500,
  })
}

export const createSmtp = ({ outgoing }: DriverTools): MessagingDriver => {
  const pools = createProviderCache<Promise<Pool>>(
    (pool) => void pool.then((opened) => opened.close()),
  )
  const open = async (provider: Provider): Promise<Pool> => {
    const { createTransport } = await import('nodemailer')
    return createTransport(optionsOf(provider, outgoing))
  }
  return {
    name: 'smtp',
    channels: ['EMAIL'],
    lacks: (provider) =>
      firstMissing(
        provider,
        provider.config.username === undefined ? ['fromAddress'] : ['fromAddress', 'secret'],
      ),
    send: async (to, message, provider) => {
      const { fromAddress = '', fromName = '' } = provider
      const domain = fromAddress.slice(fromAddress.lastIndexOf('@') + 1)
      const pool = await pools.of(provider, () => open(provider))
      try {
        const { messageId } = await pool.sendMail({
          from: { name: oneLine(fromName), address: fromAddress },
          to: { name: '', address: to },
          envelope: { from: fromAddress, to },
          messageId: `<${message.id.replaceAll(/[^\w.-]/g, '-')}@${domain}>`,
          subject: message.subject,
          text: message.text,
          ...(message.html === undefined ? {} : { html: message.html }),
          // RFC 3834 §5: no automatic answer is wanted.
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        return { messageId }
      } catch (error) {
        throw explain(error)
      }
    },
    close: () => pools.clear(),
  }
}
