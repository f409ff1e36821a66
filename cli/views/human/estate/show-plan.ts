/** Plans and what became of them, on stdout: they are what was asked for. */

import { countChanges, figureOf } from '#schemas/change-counts.ts'
import type { ChangesetChange, Impact } from '#schemas/wire/wire.ts'
import type { RealmResult } from '../../../apply/apply-plan.ts'
import { failureOf } from '../../../failure.ts'
import { type Plan, summaryOfCounts, totalOf } from '../../../planning/plan.ts'
import { shellWord } from '../../../shell-word.ts'
import { toldLines } from '../../plan/told-lines.ts'
import { appliedText, countsText } from '../../plan/words.ts'
import { printErr, printOut } from '../../streams.ts'
import { createStyle } from '../elements/style.ts'
import { harmless, onErr, onOut } from '../elements/text.ts'
import { lineText, planText } from './plan.ts'

const style = () => createStyle({ isTTY: process.stdout.isTTY === true, env: process.env })

export const showPlan = (plan: Plan): void => printOut(planText(plan, style()))

/** What the server tells of a change: one that it would make, or one that was made. */
export const showChanges = (
  changes: readonly ChangesetChange[],
  { done, impacts = [] }: { readonly done: boolean; readonly impacts?: readonly Impact[] },
): void => {
  const blocks = changes.map((change) => {
    const impact = impacts.find(({ kind, key }) => kind === change.kind && key === change.key)
    return toldLines(change, { done, impact })
      .map((line) => lineText(line, style()))
      .join('\n')
  })
  const counts = countChanges(changes.map(({ op, figure = figureOf[op] }) => figure))
  const summary = summaryOfCounts(counts)
  const total = done ? [] : [`Plan: ${countsText(summary)}.`]
  printOut([...blocks, ...total].join('\n\n'))
}

export const showSaved = (file: string): void =>
  printErr(
    `Saved the plan to ${harmless(file)}. To do exactly this:\n    iamctl apply --plan ${shellWord(harmless(file))}`,
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
  const summaries = applied.map((reply) => ({ summary: summaryOfCounts(reply) }))
  printOut(onOut('green', appliedText(totalOf(summaries))))
}
