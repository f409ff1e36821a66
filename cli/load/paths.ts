/** Names of files as they are shown, and the fence around an estate: what lies outside of its root is not read. */

import { readFile, realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { own } from '#schemas/own.ts'
import { harmless } from '../control-characters.ts'

/** Relative to where the person is, with "/" on every system. */
export const shownPath = (cwd: string, path: string): string =>
  harmless((relative(cwd, path) || '.').split(sep).join('/'))

export const isBelow = (root: string, path: string): boolean => {
  const way = relative(root, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'may not be read',
  EPERM: 'may not be read',
  EISDIR: 'is a folder',
  ELOOP: 'is a link that leads back to itself',
}

/** Why a file cannot be read, to follow its name. */
export const reasonOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return own(reasons, code) ?? `cannot be read (${code || String(error)})`
}

export type ReadResult = { readonly bytes: Buffer } | { readonly problem: string }

/** The bytes of a file that must lie below a root, wherever its links lead; the problem follows the file's name. */
export const readBelow = async (
  root: string,
  path: string,
  mostBytes: number,
): Promise<ReadResult> => {
  const full = resolve(root, path)
  if (!isBelow(root, full)) return { problem: 'lies outside of the estate' }
  try {
    const real = await realpath(full)
    if (!isBelow(await realpath(root), real)) return { problem: 'is a link out of the estate' }
    const found = await stat(real)
    if (found.isDirectory()) return { problem: 'is a folder' }
    if (!found.isFile()) return { problem: 'is not a file' }
    if (found.size > mostBytes) return { problem: `is larger than ${mostBytes} bytes` }
    return { bytes: await readFile(real) }
  } catch (error) {
    return { problem: reasonOf(error) }
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text of bytes, without a byte order mark; undefined where they are not UTF-8. */
export const decodeText = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
