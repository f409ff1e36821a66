/** A round of the loop on a few lines: when, how it ended, what it changed and what it left. */

import type { Failure } from '../../../failure.ts'
import { nameOf } from '../../../planning/names.ts'
import { summaryOfCounts } from '../../../planning/plan.ts'
import type { Held } from '../../../reconcile/policy.ts'
import type { Outcome, RealmRound, RoundReport } from '../../../reconcile/round.ts'
import { signsText } from '../../plan/words.ts'
import { printOut } from '../../streams.ts'
import { harmless, onOut } from '../elements/text.ts'
import { diagnosticsText } from './diagnostics.ts'

const colours = {
  unchanged: 'dim',
  applied: 'green',
  held: 'yellow',
  invalid: 'red',
  failed: 'red',
} as const satisfies Record<Outcome, string>

const failureText = ({ message, hint }: Failure): string =>
  harmless(hint === null ? message : `${message} (${hint})`)

const heldLine = ({ kind, key, action, reason, place }: Held): string => {
  const where = place === null ? '' : ` (${place.file}:${place.line})`
  const what = action === 'refuse' ? '' : `${action} `
  return `  left: ${what}${harmless(`${nameOf(kind, key)}: ${reason}${where}`)}`
}

const realmText = (one: RealmRound): string => {
  const { realm, outcome, revision, error } = one
  if (error) return `${harmless(realm)}: ${failureText(error)}`
  const summary = summaryOfCounts(one)
  const did = Object.values(summary).some((count) => count > 0) ? ` ${signsText(summary)}` : ''
  return `${harmless(realm)}: ${outcome}${did}${revision === null ? '' : `, revision ${revision}`}`
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`

export const showRound = (report: RoundReport, nextInMs: number | null): void => {
  const { startedAt, round, outcome, milliseconds, commit, realms, diagnostics, error } = report
  const at = commit === null ? '' : ` at ${commit.slice(0, 12)}`
  const next = nextInMs === null ? '' : `, next in ${seconds(nextInMs)}`
  const lines = [
    `${startedAt} round ${round}${at}: ${onOut(colours[outcome], outcome)} in ${seconds(milliseconds)}${next}`,
    ...(error === null ? [] : [`  ${failureText(error)}`]),
    ...realms.flatMap((one) => [
      `  ${realmText(one)}`,
      ...one.held.map((held) => `  ${heldLine(held)}`),
    ]),
  ]
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  if (errors.length > 0)
    lines.push(diagnosticsText({ diagnostics: errors, textOf: () => undefined }).trimEnd())
  printOut(lines.join('\n'))
}
