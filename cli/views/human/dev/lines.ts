/** The outcome of an apply as lines: the plain view prints them, the dashboard shows as many as fit. */

import type { FieldChange } from '#schemas/diff.ts'
import type { ApplyOutcome } from '../../../dev/outcome.ts'
import type { Diagnostic, Place } from '../../../diagnostics.ts'
import { nameOf } from '../../../planning/names.ts'
import { type Change, type RealmPlan, totalOf } from '../../../planning/plan.ts'
import { createFrames, type Frames } from '../../../validate/code-frame.ts'
import { doneText } from '../../plan/words.ts'
import { harmless } from '../elements/text.ts'

export type Tone = 'add' | 'change' | 'remove' | 'error' | 'warning' | 'quiet' | 'normal'

export interface Line {
  readonly tone: Tone
  readonly text: string
}

const longestValue = 60

const line = (tone: Tone, text: string): Line => ({ tone, text: harmless(text) })

const valueText = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'not set'
  return text.length > longestValue ? `${text.slice(0, longestValue - 1)}…` : text
}

const pathText = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')

const fieldLine = (field: FieldChange): Line => {
  const path = pathText(field.pointer)
  if (field.change === 'set')
    return line('change', `    ~ ${path}: ${valueText(field.before)} -> ${valueText(field.after)}`)
  const sign = field.change === 'add' ? '+' : '-'
  return line(field.change, `    ${sign} ${path}: ${valueText(field.value)}`)
}

const signs = {
  create: ['add', '+', ''],
  update: ['change', '~', ''],
  rename: ['change', '~', ''],
  delete: ['remove', '-', ''],
  adopt: ['quiet', '=', ' (only its owner or protection)'],
} as const

/** New documents are shown by name, changed ones with every field. */
const changeLines = ({ action, kind, key, from, fields, secrets }: Change): Line[] => {
  const [tone, sign, remark] = signs[action]
  const renamed = from === null ? '' : ` (was "${from}")`
  const head = line(tone, `  ${sign} ${nameOf(kind, key)}${renamed}${remark}`)
  if (action !== 'update' && action !== 'rename') return [head]
  return [
    head,
    ...fields.map(fieldLine),
    ...secrets.map(({ pointer, change }) =>
      line('change', `    ~ ${pathText(pointer)}: (secret) ${change}`),
    ),
  ]
}

const realmLines = ({ realm, createRealm, changes, warnings }: RealmPlan): Line[] => [
  ...(createRealm ? [line('add', `  + realm "${realm}"`)] : []),
  ...changes.flatMap(changeLines),
  ...warnings.map(({ message }) => line('warning', `  ! ${message}`)),
]

const placeText = ({ file, line: row, column }: Place): string => `${file}:${row}:${column}`

const diagnosticLines = (diagnostic: Diagnostic, frames: Frames): Line[] => {
  const { severity, code, message, place, hint, related = [] } = diagnostic
  const where = place === undefined ? '' : `${placeText(place)}: `
  const frame = place === undefined || severity === 'warning' ? [] : frames(place)
  return [
    line(severity, `  ${where}${severity} ${code}: ${message}`),
    ...(hint === undefined ? [] : [line('quiet', `    hint: ${hint}`)]),
    ...frame.map((text) => line(/^ *\| *\^+$/.test(text) ? severity : 'quiet', `  ${text}`)),
    ...related.map((one) => line('quiet', `    ${one.message}: ${placeText(one.place)}`)),
  ]
}

const bySeverity = (
  { diagnostics }: ApplyOutcome,
  severity: Diagnostic['severity'],
): Diagnostic[] => diagnostics.filter((one) => one.severity === severity)

/** Errors before what was changed before what is only unwise. */
export const outcomeLines = (outcome: ApplyOutcome): Line[] => {
  const frames = createFrames((file) => outcome.loaded?.textOf(file))
  const lines = (diagnostics: readonly Diagnostic[]): Line[] =>
    diagnostics.flatMap((one) => diagnosticLines(one, frames))
  return [
    ...lines(bySeverity(outcome, 'error')),
    ...(outcome.status === 'applied' ? (outcome.plan?.realms ?? []).flatMap(realmLines) : []),
    ...lines(bySeverity(outcome, 'warning')),
  ]
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

export const headlineOf = (outcome: ApplyOutcome): Line => {
  const { status, plan, message, milliseconds } = outcome
  if (status === 'unchanged') return line('normal', 'No changes.')
  if (status === 'invalid') {
    const errors = counted(bySeverity(outcome, 'error').length, 'error')
    return line('error', `${errors} in the files; the realm is unchanged.`)
  }
  if (status === 'failed') {
    const found = counted(bySeverity(outcome, 'error').length, 'problem')
    return line('error', `Not applied: ${message ?? found}`)
  }
  const done = doneText(totalOf(plan?.realms ?? []))
  return line('normal', `Applied in ${milliseconds} ms: ${done}.`)
}
