/** The file that `plan --out` names. */

import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
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
  const found = statSync(file, { throwIfNoEntry: false })
  if (found?.isDirectory()) refuse(file, 'is a folder')
  if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory())
    refuse(file, 'lies in a folder that does not exist')
  if (!found?.isFile() || found.size === 0) return
  if (!ownFile(readFileSync(file, 'utf8'))) refuse(file, 'exists and is not a saved plan')
}
