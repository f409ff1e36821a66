/** Why a connection failed, in words that say which part of the way it was. */

import { own } from '#schemas/own.ts'
import { UnreachableError, type UnreachableReason } from './errors.ts'

const reasons: Readonly<Record<string, UnreachableReason>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'unknown-host',
  EAI_AGAIN: 'unknown-host',
  EHOSTUNREACH: 'no-route',
  ENETUNREACH: 'no-route',
  EADDRNOTAVAIL: 'no-route',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  UND_ERR_SOCKET: 'closed',
  EPROTO: 'tls',
  UND_ERR_PRX_TLS: 'tls',
}

const textOf = (value: unknown, name: string): string | undefined => {
  const found: unknown =
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** OpenSSL's names, as Node.js passes them on: `CERT_HAS_EXPIRED`, `ERR_TLS_CERT_ALTNAME_INVALID` … */
const isAboutTls = (code: string): boolean =>
  /^(CERT_|ERR_TLS_|ERR_SSL_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)|_(CERT|CRL)(_|$)/.test(code)

/** undici has no code for a CONNECT that is refused. */
const isOfProxy = (error: unknown): boolean =>
  /^Proxy response \(\d+\)/.test(textOf(error, 'message') ?? '')

const reasonOf = (error: unknown): UnreachableReason | undefined => {
  if (isOfProxy(error)) return 'proxy'
  // It has a code only sometimes.
  if (textOf(error, 'name') === 'HTTPParserError') return 'stranger'
  const code = textOf(error, 'code') ?? ''
  // Whatever else the client objects to is an answer that breaks HTTP, such as headers without end.
  const known = own(reasons, code) ?? (code.startsWith('UND_ERR_') ? 'stranger' : undefined)
  return isAboutTls(code) ? 'tls' : known
}

const sentences: Readonly<Record<UnreachableReason, (host: string, detail: string) => string>> = {
  refused: (host) => `nothing listens at ${host} (connection refused)`,
  'unknown-host': (host) => `the name of ${host} cannot be resolved`,
  'no-route': (host) => `there is no way to ${host}`,
  timeout: (host) => `${host} does not answer in time`,
  closed: (host) => `${host} closed the connection without an answer`,
  proxy: (host, detail) => `the proxy makes no connection to ${host}: ${detail}`,
  tls: (host, detail) => `no secure connection to ${host}: ${detail}`,
  stranger: (host) => `what answers at ${host} does not speak HTTP`,
}

/** OpenSSL's own lines are long and begin with numbers, and Node.js adds a flag of its own; the rest is the reason. */
const detailOf = (error: unknown): string => {
  const message = textOf(error, 'message') ?? 'the handshake failed'
  const status = /^Proxy response \((\d+)\)/.exec(message)?.[1]
  if (status !== undefined) return `it answers ${status}`
  const [line = message] = (textOf(error, 'reason') ?? message).split('\n')
  return line
    .replace(/^[0-9A-F]+:error:[0-9A-F]+:/, '')
    .replace(/; if the root CA is installed locally.*/, '')
    .replace(/: $/, '')
}

/** Undefined where the error is none of the network's: a bug. */
export const unreachable = (
  server: string,
  error: unknown,
  proxy?: string,
): UnreachableError | undefined => {
  const cause: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'cause') : undefined
  for (const one of [error, cause]) {
    const reason = reasonOf(one)
    if (reason === undefined) continue
    const sentence = sentences[reason](new URL(server).host, detailOf(one))
    const message = proxy === undefined ? sentence : `${sentence}; ${proxy}`
    return new UnreachableError(server, reason, message, error)
  }
  return undefined
}
