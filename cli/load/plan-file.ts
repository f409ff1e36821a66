/** The file that `plan --out` names. */

import { lstatSync, readFileSync } from 'node:fs'
import { CommandError, exitCodes } from '../exit.ts'
import { ownFile } from './own-files.ts'

const refuse = (file: string, problem: string): never => {
  throw new CommandError(exitCodes.error, `--out ${file} ${problem}`, {
    hint: 'nothing was planned; name a new file, such as change.plan',
  })
}

/** Before anything is planned. A realm file, or an export, that is named by mistake stays. */
export const checkPlanFile = (file: string): void => {
  if (file === '-') refuse(file, 'is no file: a plan for programs is printed by -o json')
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (!found?.isFile() || found.size === 0) return
  if (!ownFile(readFileSync(file, 'utf8'))) refuse(file, 'exists and is not a saved plan')
}
