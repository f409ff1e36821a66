/** Replaces a file atomically: concurrent readers, and a crash, see the old text or the new one. */

import { randomBytes } from 'node:crypto'
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { unwritable } from '../named-file.ts'

export const replaceText = async (path: string, text: string): Promise<void> => {
  // A link stays one: what it leads to is replaced.
  const file = await realpath(path)
  const { mode } = await stat(file)
  const next = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}`)
  try {
    const handle = await open(next, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.chmod(mode & 0o7777)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(next, file)
  } catch (error) {
    await rm(next, { force: true })
    throw unwritable(path, error)
  }
}
