/** Mail by SMTP: a pool of connections a provider, TLS or STARTTLS, certificates always checked. */

import { isIP } from 'node:net'
import type { Transporter } from 'nodemailer'
import type SMTPPool from 'nodemailer/lib/smtp-pool/index.js'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { dial } from '../dial.ts'
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

/** Only codes are told: what the server says in words may be anything. */
const explain = (error: unknown): DeliveryError => {
  if (error instanceof OutgoingError) return fromOutgoing(error)
  const { code = 'failed', responseCode } = error as { code?: string; responseCode?: number }
  const reply = responseCode === undefined ? '' : ` (${responseCode})`
  const retryable = responseCode === undefined || (responseCode >= 400 && responseCode < 500)
  if (code === 'EAUTH')
    return new DeliveryError(`the mail server refused the user name or password${reply}`, {
      retryable: responseCode !== undefined && retryable,
    })
  if (code === 'ETLS' || /CERT|SSL|TLS|ISSUER|SIGNATURE/.test(code))
    return new DeliveryError(
      'no trusted TLS connection to the mail server: see secure, requireTls and ca of the provider',
    )
  if (responseCode !== undefined)
    return new DeliveryError(`the mail server refused the message${reply}`, { retryable })
  return new DeliveryError(`the mail server does not answer (${code})`, { retryable })
}

/** Where the error of a handshake is wrapped, its own words are the only trace. */
const isTlsError = (error: unknown): boolean =>
  error instanceof Error && /certificate|TLS|altnames/i.test(error.message)

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
          messageId: `<${message.id}@${domain}>`,
          subject: message.subject,
          text: message.text,
          ...(message.html === undefined ? {} : { html: message.html }),
          // RFC 3834 §5: no automatic answer is wanted.
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        return { messageId }
      } catch (error) {
        throw isTlsError(error) ? explain({ code: 'ETLS' }) : explain(error)
      }
    },
    close: () => pools.clear(),
  }
}
