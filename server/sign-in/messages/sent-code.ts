/**
 * Codes that are sent to a user: six digits, good for ten minutes and a few tries, stored as a keyed digest. A new one may be
 * asked for after a pause, and only so often in one sign-in; every wrong one counts as a failed sign-in too.
 */

import { randomInt } from 'node:crypto'
import { constantTimeEqual } from '#server/platform/random.ts'
import { hmacSha256 } from '#server/platform/sealing.ts'

export const codeDigits = 6
export const codeLifetimeMs = 10 * 60_000
export const codeMinutes = String(codeLifetimeMs / 60_000)
const mostTries = 5
const mostSendings = 5
const pauseMs = 30_000

/** What a sign-in remembers of the code. */
export interface SentCode {
  readonly digest: string
  readonly sentAt: number
  readonly tries: number
  readonly sendings: number
}

const digestOf = (key: Uint8Array, owner: string, code: string): string =>
  hmacSha256(key, `${owner}\n${code}`)

/** `owner` is whose code it is: it proves nothing for another user. */
export const newCode = (
  key: Uint8Array,
  owner: string,
  now: number,
  before?: SentCode,
): { readonly code: string; readonly sent: SentCode } => {
  const code = String(randomInt(10 ** codeDigits)).padStart(codeDigits, '0')
  const sendings = (before?.sendings ?? 0) + 1
  return { code, sent: { digest: digestOf(key, owner, code), sentAt: now, tries: 0, sendings } }
}

export const maySendAgain = (
  { sentAt, sendings }: Pick<SentCode, 'sentAt' | 'sendings'>,
  now: number,
): boolean => sendings < mostSendings && now - sentAt >= pauseMs

export const isOver = ({ sentAt, tries }: SentCode, now: number): boolean =>
  tries >= mostTries || now - sentAt >= codeLifetimeMs

export const isCode = (key: Uint8Array, owner: string, sent: SentCode, typed: string): boolean =>
  constantTimeEqual(sent.digest, digestOf(key, owner, typed.replace(/\s/g, '')))
