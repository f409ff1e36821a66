/** Out of base64 and DEFLATE, as the bindings send messages (SAML bindings §3.4.4.1, §3.5.4), with a bound on every step. */

import { inflateRawSync } from 'node:zlib'
import { refuse } from './refused.ts'

/** RFC 4648 §4 with padding; line breaks are allowed, since many senders fold long lines (RFC 2045 §6.8). */
export const decodeBase64 = (encoded: string, what: string): Buffer => {
  const plain = encoded.replace(/[ \t\r\n]+/g, '')
  const isBase64 = plain.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(plain)
  const bytes = isBase64 ? Buffer.from(plain, 'base64') : undefined
  // One text for the same bytes: bits that are left over must be zero.
  if (bytes === undefined || bytes.toString('base64') !== plain)
    return refuse('encoding', `${what} is not base64`)
  return bytes
}

/** Bytes that are allocated at a time for what is inflated: an ordinary message fits in, and 16 KiB were garbage each time. */
const CHUNK = 2048

const tooLarge = (limit: number): never =>
  refuse('too-large', `the message is larger than ${limit} bytes`)

const decodeBounded = (encoded: string, limit: number): Buffer => {
  // Four characters for three bytes, and a line break for every 64 at most.
  if (encoded.length > limit * 1.5 + 64) tooLarge(limit)
  return decodeBase64(encoded, 'the message')
}

const strict = new TextDecoder('utf-8', { fatal: true })

const utf8 = (bytes: Buffer): string => {
  try {
    return strict.decode(bytes)
  } catch {
    return refuse('encoding', 'the message is not UTF-8')
  }
}

/** The text of a document that comes as it is, such as metadata. */
export const readBytes = (bytes: Buffer, limit: number): string =>
  bytes.length > limit ? tooLarge(limit) : utf8(bytes)

/** The text of a message of the POST binding. */
export const readBase64 = (encoded: string, limit: number): string =>
  readBytes(decodeBounded(encoded, limit), limit)

const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'

/** The text of a message of the redirect binding. Inflating stops at the limit: 1 KB of DEFLATE can stand for 1 GB. */
export const readDeflated = (encoded: string, limit: number): string => {
  const bytes = decodeBounded(encoded, limit)
  try {
    return utf8(inflateRawSync(bytes, { maxOutputLength: limit, chunkSize: CHUNK }))
  } catch (error) {
    if (isTooLarge(error)) return tooLarge(limit)
    if (error instanceof Error && error.name === 'XmlRefused') throw error
    return refuse('encoding', 'the message is not DEFLATE')
  }
}
