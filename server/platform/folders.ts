/** Makes a folder and those above it. */

import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

const make = (path: string, mode: number): void => {
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

/** `mkdir` with `recursive` never ends below a folder that exists and takes none, such as /proc: each level is tried once. */
export const makeFolder = (folder: string, mode: number): void => make(resolve(folder), mode)
