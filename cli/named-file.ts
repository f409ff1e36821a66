/** Files that an argument or a flag names: an error names the file, which that of Node.js does not do for a folder. */

import { readFile } from 'node:fs/promises'
import { harmless } from './control-characters.ts'
import { CommandError, exitCodes } from './exit.ts'
import { reasonOf } from './load/paths.ts'

export const unreadable = (file: string, error: unknown): CommandError =>
  new CommandError(exitCodes.error, `${harmless(file)} ${reasonOf(error)}`, {
    hint: 'name an existing file that you may read',
    cause: error,
  })

const fullDisk: readonly unknown[] = ['ENOSPC', 'EDQUOT']

/** The system names no file where a write fails, such as on a full disk; an error that names one stays as it is. */
export const unwritable = (file: string, error: unknown): unknown => {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const isFull = fullDisk.includes(error.code)
  if ('path' in error && !isFull) return error
  const reason = isFull ? 'the disk is full' : error.message
  return new CommandError(exitCodes.error, `${harmless(file)} cannot be written: ${reason}`, {
    hint: isFull ? 'free space, or name another file' : 'check the file system',
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
