/** Plans and what became of them, on stdout: they are what was asked for. */

import type { RealmResult } from '../../apply/apply-plan.ts'
import { failureOf } from '../../failure.ts'
import type { Plan } from '../../plan/plan.ts'
import { appliedText } from '../plan/words.ts'
import { printErr, printOut } from '../streams.ts'
import { planText } from './plan.ts'
import { createStyle } from './style.ts'
import { harmless, onErr, onOut } from './text.ts'

const style = () => createStyle({ isTTY: process.stdout.isTTY === true, env: process.env })

export const showPlan = (plan: Plan): void => printOut(planText(plan, style()))

export const showSaved = (file: string): void =>
  printErr(
    `Saved the plan to ${harmless(file)}. To do exactly this:\n    iamctl apply --plan ${harmless(file)}`,
  )

const realmLine = (result: RealmResult): string => {
  const name = harmless(result.realm)
  if (result.outcome === 'failed')
    return `${onErr('red', 'failed')} realm ${name}: ${harmless(failureOf(result.error).message)}`
  if (result.outcome === 'unchanged') return `realm ${name}: no changes`
  return `realm ${name}: revision ${result.reply.revision}`
}

/** One line a realm where there are several, then the line that pipelines search for. */
export const showApplied = (results: readonly RealmResult[]): void => {
  const applied = results.flatMap((result) => (result.outcome === 'applied' ? [result.reply] : []))
  if (results.length > 1 || applied.length > 0)
    for (const result of results)
      if (results.length > 1 || result.outcome !== 'failed') printErr(realmLine(result))
  if (applied.length === 0) return
  const sum = (count: 'created' | 'updated' | 'deleted'): number =>
    applied.reduce((total, reply) => total + reply[count], 0)
  printOut(
    onOut(
      'green',
      appliedText({ created: sum('created'), updated: sum('updated'), deleted: sum('deleted') }),
    ),
  )
}
