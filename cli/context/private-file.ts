/** Files that only their owner may read, in a folder of which the same is true; replaced as a whole, so that a crash leaves the old one. */

import { randomBytes } from 'node:crypto'
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../make-folder.ts'

export const makePrivateFolder = (folder: string): void => {
  makeFolder(folder, 0o700)
  chmodSync(folder, 0o700)
}

export const writePrivateFile = (file: string, text: string): void => {
  makePrivateFolder(dirname(file))
  const next = `${file}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(next, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(next, file)
  } catch (error) {
    rmSync(next, { force: true })
    throw error
  }
}
