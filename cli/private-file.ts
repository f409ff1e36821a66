/**
 * Files that only their owner may read. A file is replaced as a whole and flushed first, so that a crash leaves the old
 * content or the new one, and never a part.
 */

import { randomBytes } from 'node:crypto'
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from './make-folder.ts'
import { unwritable } from './named-file.ts'

export const makePrivateFolder = (folder: string): void => {
  makeFolder(folder, 0o700)
  chmodSync(folder, 0o700)
}

/** In a folder that exists and keeps its permissions: it may be the user's. */
export const writePrivateFile = (file: string, text: string): void => {
  const next = `${file}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(next, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(next, file)
  } catch (error) {
    rmSync(next, { force: true })
    throw unwritable(file, error)
  }
}

/** In a folder of iamctl's own, which only its owner may read either. */
export const writeInPrivateFolder = (file: string, text: string): void => {
  makePrivateFolder(dirname(file))
  writePrivateFile(file, text)
}
