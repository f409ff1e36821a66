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

export const readNamed = async (file: string): Promise<Buffer> => {
  try {
    return await readFile(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}
