/**
 * Whether a password is known to attackers: by the file of common passwords that comes with the
 * package, by a corpus in the format of "Pwned Passwords" on disk, or by a service that receives only
 * the first 5 hex digits of a digest (k-anonymity).
 */

import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import type { Outgoing } from '../outgoing/client.ts'
import { OutgoingError } from '../outgoing/errors.ts'
import {
  ENTRY_BYTES,
  fingerprint,
  HEADER_BYTES,
  INDEX_BYTES,
  MAGIC,
  MAX_ENTRIES,
} from './filter-format.ts'
import { normalizePassword } from './policy.ts'

export interface BreachCheck {
  isBreached(password: string): Promise<boolean>
}

/** Where the build puts the filter, found from source and from the bundle alike. */
export function defaultFilterFile(): string {
  const manifest = findPackageJSON(import.meta.url)
  if (manifest === undefined) throw new Error('the package of the server is not complete')
  return join(dirname(manifest), 'dist', 'breach.filter')
}

/** Refuses a wrong file at once, and reads it (about 3 MB) when the first password asks. */
export function openFilter(file: string): BreachCheck {
  checkFilter(file)
  let loading: Promise<Buffer> | undefined
  const load = async (): Promise<Buffer> => {
    try {
      loading ??= readFile(file)
      return await loading
    } catch (error) {
      loading = undefined
      throw error
    }
  }
  return Object.freeze({
    isBreached: async (password: string) => containsFingerprint(await load(), password),
  })
}

function checkFilter(file: string): void {
  const descriptor = openSync(file, 'r')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(descriptor, header, 0, HEADER_BYTES, 0)
    const entries = header.readUInt32BE(MAGIC.length)
    const size = HEADER_BYTES + INDEX_BYTES + entries * ENTRY_BYTES
    const isFilter = header.toString('latin1', 0, MAGIC.length) === MAGIC
    if (!isFilter || entries > MAX_ENTRIES || fstatSync(descriptor).size !== size) {
      throw new Error(`${file} is not a filter of common passwords; npm run build makes one`)
    }
  } finally {
    closeSync(descriptor)
  }
}

function containsFingerprint(filter: Buffer, password: string): boolean {
  const { bucket, rest } = fingerprint(password)
  const endOf = (index: number) => filter.readUInt32BE(HEADER_BYTES + index * 4)
  const end = endOf(bucket)
  // A bucket holds about 15 entries: looking at each is as fast as halving.
  for (let entry = bucket === 0 ? 0 : endOf(bucket - 1); entry < end; entry += 1) {
    const at = HEADER_BYTES + INDEX_BYTES + entry * ENTRY_BYTES
    if (filter.readUIntBE(at, ENTRY_BYTES) === rest) return true
  }
  return false
}

const DIGEST_DIGITS = 40
const PREFIX_DIGITS = 5
/** More than two lines, so that a whole one is in it wherever the reading starts. */
const WINDOW_BYTES = 256

/**
 * A file of sorted lines `SHA1HEX:count`. The whole corpus has tens of gigabytes, so it is searched on
 * disk by halving. It is opened for each search: a newer one may be put in its place at any time.
 */
export function openKAnonymityFile(file: string): BreachCheck {
  checkFirstLine(file)
  return Object.freeze({
    async isBreached(password: string): Promise<boolean> {
      await using handle = await open(file, 'r')
      // Awaited here: the file is closed when this function returns.
      return await hasDigest(handle, sha1(password))
    },
  })
}

function checkFirstLine(file: string): void {
  const descriptor = openSync(file, 'r')
  try {
    const start = Buffer.alloc(WINDOW_BYTES)
    const length = readSync(descriptor, start, 0, WINDOW_BYTES, 0)
    if (!/^[0-9a-f]{40}:\d+\r?\n/i.test(start.toString('latin1', 0, length))) {
      throw new Error(`${file} does not consist of lines SHA1HEX:count`)
    }
  } finally {
    closeSync(descriptor)
  }
}

/** Halves bytes, not lines: the line, if there is one, begins at `low` or later but before `high`. */
async function hasDigest(handle: FileHandle, digest: string): Promise<boolean> {
  let low = 0
  let high = (await handle.stat()).size
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const line = await firstLineFrom(handle, middle)
    if (line === undefined || line.digest > digest) high = middle
    else if (line.digest < digest) low = line.end
    else return true
  }
  return false
}

/** The first line that begins at `position` or later. */
async function firstLineFrom(
  handle: FileHandle,
  position: number,
): Promise<{ digest: string; end: number } | undefined> {
  // One byte earlier: a line break there means that a line begins exactly at the position.
  const from = Math.max(position - 1, 0)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(WINDOW_BYTES), 0, WINDOW_BYTES, from)
  const text = buffer.toString('latin1', 0, bytesRead)
  const start = position === 0 ? 0 : text.indexOf('\n') + 1
  if (start === 0 && position !== 0) return undefined
  const digest = text.slice(start, start + DIGEST_DIGITS).toUpperCase()
  return digest === '' ? undefined : { digest, end: from + start + DIGEST_DIGITS }
}

/**
 * A service that answers GET `<url>/<5 hex digits>` with lines `SUFFIX:count`, asked to pad its answer
 * so that its length does not reveal the prefix. If it fails the result is "not breached", and
 * `warn` is called: the filter that comes with the package has been checked as well, and an outage of
 * a third party must not keep users from replacing a stolen password.
 */
export function kAnonymityEndpoint(
  url: string,
  outgoing: Pick<Outgoing, 'request'>,
  warn: (message: string) => void,
): BreachCheck {
  return Object.freeze({
    async isBreached(password: string): Promise<boolean> {
      const digest = sha1(password)
      try {
        const lines = await fetchRange(url, digest.slice(0, PREFIX_DIGITS), outgoing)
        return lines.some((line) => isEntry(line, digest.slice(PREFIX_DIGITS)))
      } catch (error) {
        if (!(error instanceof OutgoingError)) throw error
        warn(`breached passwords are not looked up: ${error.message}`)
        return false
      }
    },
  })
}

async function fetchRange(
  url: string,
  prefix: string,
  outgoing: Pick<Outgoing, 'request'>,
): Promise<string[]> {
  const target = new URL(url)
  target.pathname = `${target.pathname.replace(/\/$/, '')}/${prefix}`
  const response = await outgoing.request({
    url: target.href,
    method: 'GET',
    headers: { 'add-padding': 'true' },
  })
  if (response.status !== 200) {
    throw new OutgoingError('outgoing.network', target.host, `it answered ${response.status}`)
  }
  return Buffer.from(response.body).toString('latin1').split('\n')
}

/** A count of 0 marks padding. */
function isEntry(line: string, suffix: string): boolean {
  const [digits = '', count = '0'] = line.trim().split(':')
  return digits.toUpperCase() === suffix && Number(count) !== 0
}

/** The corpus has passwords as they were typed; nearly all of those are their own normal form. */
function sha1(password: string): string {
  return createHash('sha1').update(normalizePassword(password)).digest('hex').toUpperCase()
}
