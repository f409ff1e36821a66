/**
 * Codes and refresh tokens, which tell this server alone what grant they are of (RFC 9700 §4.14.2, implementation note).
 * One that comes back long after its use is known for what it is, although no row remembers it: a family may be refreshed
 * for a year, and would leave a row each time.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { randomBytes } from '#server/platform/random.ts'

export type HandlePurpose = 'code' | 'refresh-token'

export interface Handles {
  make(purpose: HandlePurpose, grantId: string): string
  /** Undefined unless it was made here, for this purpose. */
  grantOf(purpose: HandlePurpose, handle: string): string | undefined
}

const secretLength = 32
const idLength = 16
/** 128 bits: guessing one costs a request each. */
const markLength = 16

const idBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex')

const idText = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

export const createHandles = (key: Uint8Array): Handles => {
  const markOf = (purpose: HandlePurpose, content: Buffer): Buffer =>
    createHmac('sha256', key).update(`${purpose} `).update(content).digest().subarray(0, markLength)

  return {
    make: (purpose, grantId) => {
      const content = Buffer.concat([randomBytes(secretLength), idBytes(grantId)])
      return Buffer.concat([content, markOf(purpose, content)]).toString('base64url')
    },

    grantOf: (purpose, handle) => {
      const bytes = Buffer.from(handle, 'base64url')
      const end = secretLength + idLength
      // Rows are found by the text, which several spellings of the same bytes would get past.
      if (bytes.length !== end + markLength || bytes.toString('base64url') !== handle)
        return undefined
      const content = bytes.subarray(0, end)
      return timingSafeEqual(bytes.subarray(end), markOf(purpose, content))
        ? idText(content.subarray(secretLength))
        : undefined
    },
  }
}
