/** The file of `plan --out`: only its owner may read it, and no other file is lost to it. */

import { lstatSync, readFileSync } from 'node:fs'
import { CommandError, exitCodes } from '../../exit.ts'
import { ownFile } from '../../load/own-files.ts'
import { writeHere } from '../../write-below.ts'
import type { Plan } from '../plan.ts'
import { serializePlan } from '../saved.ts'

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

export const writePlanFile = (file: string, plan: Plan): Promise<void> =>
  writeHere(file, serializePlan(plan), { overwrite: true, mode: 0o600 })
