/**
 * Only one reading of a request reaches a handler. Node.js refuses most messages that a proxy in front could read differently
 * (RFC 9112 §11.2), but takes those below: it keeps the first of repeated lines and parses any list of codings that ends in `chunked`.
 */

import type { IncomingMessage } from 'node:http'

/** RFC 9110 §7.2, RFC 3986 §3.2.2; empty where the target has no authority. */
const hostValue = /^(?:\[[\da-f:.]+\]|(?:[a-z\d\-._~!$&'()*+,;=]|%[\da-f]{2})*)(?::\d*)?$/i

/** Node.js keeps the first of several, where a proxy may have decided by the last (RFC 9110 §5.3). */
const singular: ReadonlySet<string> = new Set(['host', 'authorization', 'content-type'])

export interface MessageFault {
  readonly status: 400 | 501 | 505
  readonly detail: string
}

/** What is wrong with the request line and headers; undefined for a message that has one reading. */
export const messageFault = ({
  httpVersion,
  rawHeaders,
  headers,
}: Pick<IncomingMessage, 'httpVersion' | 'rawHeaders' | 'headers'>): MessageFault | undefined => {
  // RFC 9110 §15.6.6; the parser of Node.js takes 0.9 and 2.0 too, and asks neither for a host.
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return { status: 505, detail: 'This server takes HTTP/1.1.' }
  const repeated = repeatedName(rawHeaders)
  if (repeated !== undefined)
    return { status: 400, detail: `The header ${repeated} comes more than once.` }
  if (!hostValue.test(headers.host ?? ''))
    return { status: 400, detail: 'The header Host holds no host (RFC 9112 §3.2).' }
  return codingFault(httpVersion, headers['transfer-encoding'])
}

const repeatedName = (rawHeaders: readonly string[]): string | undefined => {
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ''
    if (seen.has(name)) return name
    if (singular.has(name)) seen.add(name)
  }
  return undefined
}

/** RFC 9112 §6.1. */
const codingFault = (version: string, coding: string | undefined): MessageFault | undefined => {
  if (coding === undefined) return undefined
  if (version === '1.0')
    return { status: 400, detail: 'A request of HTTP/1.0 has no Transfer-Encoding.' }
  return coding.toLowerCase() === 'chunked'
    ? undefined
    : { status: 501, detail: 'The only transfer coding that this server takes is chunked.' }
}
