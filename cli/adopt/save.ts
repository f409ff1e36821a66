/** Saves changed files, all of them or none where one has changed meanwhile; a byte order mark stays. */

import { readFile } from 'node:fs/promises'
import { CommandError, exitCodes } from '../exit.ts'
import { replaceText } from '../fmt/save.ts'
import { decodeText } from '../load/paths.ts'
import type { ChangedFile } from './adopt.ts'

const mark = '\ufeff'

const startsWithMark = (bytes: Buffer): boolean => bytes.subarray(0, 3).toString('hex') === 'efbbbf'

export const saveFiles = async (files: readonly ChangedFile[]): Promise<void> => {
  const texts: [string, string][] = []
  for (const { file, path, before, after } of files) {
    const bytes = await readFile(path)
    if (decodeText(bytes) !== before)
      throw new CommandError(exitCodes.conflict, `${file} was changed concurrently`, {
        hint: 'nothing was written; try again',
      })
    texts.push([path, startsWithMark(bytes) ? mark + after : after])
  }
  for (const [path, text] of texts) await replaceText(path, text)
}
