/**
 * Files that are written into a folder that others can fill, such as a checkout: no link in it leads the text elsewhere
 * (CWE-59), and no name leaves it (CWE-22). The folder itself may be a link: the operator named it.
 */

import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CommandError, exitCodes } from './exit.ts'
import { isBelow } from './load/paths.ts'
import { makeFolder } from './make-folder.ts'

export interface WriteOptions {
  readonly overwrite: boolean
  readonly mode?: number
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

const refused = (file: string, reason: string, hint: string, cause?: unknown): CommandError =>
  new CommandError(exitCodes.error, `${file} ${reason}`, { hint, cause })

const { O_WRONLY, O_CREAT, O_TRUNC, O_EXCL, O_NOFOLLOW } = constants

/** Writes one file; a link in its place is refused and not followed. */
export const writeHere = async (
  file: string,
  text: string | Uint8Array,
  { overwrite, mode }: WriteOptions,
): Promise<void> => {
  // Windows has no such flag, and links there need a privilege.
  const flags = O_WRONLY | O_CREAT | (overwrite ? O_TRUNC | (O_NOFOLLOW ?? 0) : O_EXCL)
  try {
    await using handle = await open(file, flags, mode)
    // `open` sets the mode of a new file only. Some file systems have none, and a device keeps its own.
    if (mode !== undefined && (await handle.stat()).isFile())
      await handle.chmod(mode).catch(() => undefined)
    await handle.writeFile(text)
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw refused(file, 'exists', 'choose another name, or give --overwrite', error)
    if (codeOf(error) === 'ELOOP')
      throw refused(file, 'is a link and is not followed', 'remove it, or name another file', error)
    if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT')
      throw refused(file, 'cannot be written: the disk is full', 'free space, or name another file')
    throw error
  }
}

/** Where a path leads, as far as it exists. */
const nearestReal = async (path: string): Promise<string> => {
  try {
    return await realpath(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    return nearestReal(dirname(path))
  }
}

/** Writes a file below a folder; `name` may hold folders, which are made. */
export const writeBelow = async (
  folder: string,
  name: string,
  text: string | Uint8Array,
  options: WriteOptions,
): Promise<void> => {
  const file = join(folder, name)
  if (!isBelow(resolve(folder), resolve(file)) || resolve(folder) === resolve(file))
    throw refused(file, `lies outside of ${folder}`, 'check the name of the realm')
  makeFolder(folder)
  const root = await realpath(folder)
  const parent = dirname(file)
  if (!isBelow(root, await nearestReal(parent)))
    throw refused(parent, 'is a link that leads elsewhere', 'remove it, or name another folder')
  makeFolder(parent)
  await writeHere(file, text, options)
}
