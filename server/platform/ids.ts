/**
 * Identifiers: UUIDv7, RFC 9562 §5.7. They sort by time of creation, so that inserts stay at one end
 * of an index. An id names a thing; it is no secret and grants nothing.
 */

import { randomFillSync, randomInt } from 'node:crypto'
import { type Clock, systemClock } from './clock.ts'

const COUNTER_END = 0x1000
/** In front of the counter's digits. */
const VERSION = 0x7000
/** Drawn for so many ids at once: a draw costs more than an id. */
const DRAWN = 256
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The last two groups: the variant (RFC 9562 §4.1) and 62 random bits. */
function createTailSource(): () => string {
  const bytes = Buffer.allocUnsafeSlow(8 * DRAWN)
  let digits = ''
  let next = 0
  const draw = (): void => {
    randomFillSync(bytes)
    for (let at = 0; at < bytes.length; at += 8) bytes[at] = ((bytes[at] ?? 0) & 0x3f) | 0x80
    digits = bytes.toString('hex')
    next = 0
  }
  return () => {
    if (next === digits.length) draw()
    next += 16
    return `${digits.slice(next - 16, next - 12)}-${digits.slice(next - 12, next)}`
  }
}

/**
 * A source of ever growing ids: 12 bits count within a millisecond (RFC 9562 §6.2, method 1). A
 * clock that stands still or steps back does not stop it: the last millisecond goes on, and a full
 * counter borrows the next one.
 */
export function createIdSource(clock: Clock): () => string {
  const newTail = createTailSource()
  let milliseconds = 0
  let counter = 0
  /** The first two groups, which most ids share with the one before. */
  let time = ''
  const begin = (at: number, count: number): void => {
    milliseconds = at
    counter = count
    const digits = at.toString(16).padStart(12, '0')
    time = `${digits.slice(0, 8)}-${digits.slice(8)}`
  }
  return () => {
    const now = clock.now()
    if (now > milliseconds) begin(now, randomInt(COUNTER_END / 2))
    else if (++counter === COUNTER_END) begin(milliseconds + 1, 0)
    const versionAndCount = (VERSION + counter).toString(16)
    return `${time}-${versionAndCount}-${newTail()}`
  }
}

export const newId: () => string = createIdSource(systemClock)

/** Any version, so that ids made elsewhere and imported with a realm are accepted. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** When an id of ours was made, in epoch milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
