/** Makes a folder and those above it. */

import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { own } from '#schemas/own.ts'
import { CommandError, exitCodes } from './exit.ts'

const reasons: Readonly<Record<string, string>> = {
  EEXIST: 'a file has this name',
  ENOTDIR: 'a part of the path is a file',
  ENOENT: 'the file system takes no folder there',
  EACCES: 'you have no permission',
  EPERM: 'the file system does not permit it',
  EROFS: 'the file system is read-only',
  ELOOP: 'its symbolic links lead in a circle',
  ENAMETOOLONG: 'the name is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'your quota is used up',
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** `mkdir` with `recursive` never ends below a folder that exists and takes none, such as /proc: each level is tried once. */
const make = (path: string, mode: number | undefined): void => {
  if (isFolder(path)) return
  const above = dirname(path)
  if (above !== path) make(above, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(path)) throw error
  }
}

const reasonOf = (error: unknown, folder: string): string => {
  if (!(error instanceof Error)) return String(error)
  const reason = 'code' in error ? own(reasons, String(error.code)) : undefined
  if (reason === undefined) return error.message
  return 'path' in error && error.path !== folder ? `${error.path}: ${reason}` : reason
}

export const makeFolder = (folder: string, mode?: number): void => {
  const path = resolve(folder)
  try {
    make(path, mode)
  } catch (error) {
    const reason = reasonOf(error, path)
    throw new CommandError(exitCodes.error, `cannot create the folder ${folder}: ${reason}`, {
      hint: 'name another folder, or create this one first',
      cause: error,
    })
  }
}
