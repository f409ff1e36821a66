/** Files that an argument or a flag names: an error names the file, which that of Node.js does not do for a folder. */

import { readFile } from 'node:fs/promises'
import { own } from '#schemas/own.ts'
import { harmless } from './control-characters.ts'
import { CommandError, exitCodes } from './exit.ts'
import { reasonOf } from './load/paths.ts'

export const unreadable = (file: string, error: unknown): CommandError =>
  new CommandError(exitCodes.error, `${harmless(file)} ${reasonOf(error)}`, {
    hint: 'name an existing file that you may read',
    cause: error,
  })

/** Why a file cannot be written, and what to do. */
const obstacles: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ['the disk is full', 'free space, or name another file'],
  EDQUOT: ['your quota is used up', 'free space, or name another file'],
  EACCES: ['you may not write in its folder', 'check its permissions, or name another file'],
  EPERM: ['the file system does not permit it', 'name another file'],
  EROFS: ['the file system is read-only', 'name another file'],
  ENOENT: ['its folder does not exist', 'create the folder, or name another file'],
  ENOTDIR: ['a part of the path is a file', 'name another file'],
}

/** The system names a draft beside the file, or where a write fails, as on a full disk, none at all. */
export const unwritable = (file: string, error: unknown): unknown => {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const [reason, hint] = own(obstacles, String(error.code)) ?? [error.message, 'name another file']
  return new CommandError(exitCodes.error, `${harmless(file)} cannot be written: ${reason}`, {
    hint,
    cause: error,
  })
}

export const readNamed = async (file: string): Promise<Buffer> => {
  try {
    return await readFile(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}
