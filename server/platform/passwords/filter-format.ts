/**
 * The file of common passwords: a sorted set of 40-bit fingerprints in 65,536 buckets by their first
 * 16 bits. Header (16 bytes): magic, number of entries. Index: the end of each bucket, in entries.
 * Then 3 bytes per entry, in big-endian order. A stranger is taken for an entry with a probability of
 * entries / 2^40, which is below one in a million up to 1,099,511 entries.
 */

import { hash } from 'node:crypto'
import { normalizePassword } from './policy.ts'

export const MAGIC = 'iamctl/pwf1\n'
export const HEADER_BYTES = 16
export const BUCKETS = 0x10000
export const INDEX_BYTES = BUCKETS * 4
export const ENTRY_BYTES = 3
export const MAX_ENTRIES = Math.floor(2 ** 40 / 1_000_000)

/** `bucket` is the first 16 bits, `rest` the next 24. Case is folded: `PassWord` is as common as `password`. */
export function fingerprint(password: string): { bucket: number; rest: number } {
  const text = normalizePassword(password).toLowerCase()
  // As hex: a million short buffers would cost the build more than the hashing does.
  const digest = hash('sha256', text)
  return {
    bucket: Number.parseInt(digest.slice(0, 4), 16),
    rest: Number.parseInt(digest.slice(4, 10), 16),
  }
}
