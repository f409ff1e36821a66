/** A plan as people know it from Terraform: every change with its fields, then one line that counts them. */

import {
  hasChanges,
  isAdoption,
  isEmpty,
  type Plan,
  type RealmPlan,
  totalOf,
} from '../../../planning/plan.ts'
import { changeLines, documentName, signOf } from '../../plan/change-lines.ts'
import { counted, type Line, type Sign } from '../../plan/lines.ts'
import { quoted } from '../../plan/text.ts'
import { adoptionText, summaryText, totalText } from '../../plan/words.ts'
import type { Style } from '../elements/style.ts'
import { harmless } from '../elements/text.ts'

/** Most unmanaged documents to list. */
const mostUnmanaged = 20

const legend: readonly (readonly [Sign, string])[] = [
  ['+', 'create'],
  ['~', 'update in-place'],
  ['-', 'destroy'],
]

const coloured = (sign: Sign, style: Style): ((text: string) => string) => {
  if (sign === '+') return style.green
  if (sign === '-') return style.red
  return sign === '~' ? style.yellow : (text) => text
}

/** The sign is printed two columns before its line. */
export const lineText = ({ sign, depth, text, isNote, isHeadline }: Line, style: Style): string => {
  const indent = ' '.repeat(4 * depth - 2)
  if (isHeadline) return `${indent}${style.bold(text)}`
  // A remark on a document stands where its sign does, one among fields where the fields do.
  if (isNote) return `${depth === 1 ? indent : `${indent}  `}${style.dim(text)}`
  return `${indent}${coloured(sign, style)(sign)} ${text}`.trimEnd()
}

const header = (plan: Plan, style: Style): string[] => {
  const signs = new Set(
    plan.realms.flatMap(({ changes, createRealm }) => [
      ...changes.map(signOf),
      ...(createRealm ? ['+' as const] : []),
    ]),
  )
  return [
    `Plan for ${harmless(plan.server)}. Actions are indicated with the following symbols:`,
    ...legend
      .filter(([sign]) => signs.has(sign))
      .map(([sign, meaning]) => `  ${coloured(sign, style)(sign)} ${meaning}`),
    '',
  ]
}

const unmanaged = ({ unmanaged: documents, unmanagedCount }: RealmPlan, style: Style): string[] => {
  if (unmanagedCount === 0) return []
  const shown = documents.slice(0, mostUnmanaged)
  const rest = unmanagedCount - shown.length
  return [
    style.bold(`Not managed by these files, and left alone (${unmanagedCount}):`),
    ...shown.map(({ kind, key, owner }) => {
      const owned = owner === null ? '' : ` (owned by ${quoted(owner)})`
      return `    ${documentName(kind, key)}${owned}`
    }),
    ...(rest > 0 ? [`    ${style.dim(`# (${rest} more)`)}`] : []),
    '',
  ]
}

const warnings = ({ warnings: all }: RealmPlan, style: Style): string[] =>
  all.flatMap(({ code, message }) => [
    `${style.yellow('Warning:')} ${harmless(message)} [${code}]`,
    '',
  ])

const problems = ({ problems: all }: RealmPlan, style: Style): string[] => {
  if (all.length === 0) return []
  const lines = all.map(({ code, message, place }) => {
    const at = place ? `${harmless(place.file)}:${place.line}:${place.column}: ` : ''
    return `${style.red('Error:')} ${at}${harmless(message)} [${code}]`
  })
  return [
    '',
    ...lines,
    '',
    style.bold(`It cannot be applied as it is: ${counted(all.length, 'error')}.`),
  ]
}

/** One realm: what happens in it, what is left alone, and the line that counts. */
const realmText = (plan: RealmPlan, style: Style): string[] => {
  const made = plan.createRealm
    ? ([
        {
          sign: ' ',
          depth: 1,
          text: `# realm ${quoted(plan.realm)} will be created`,
          isHeadline: true,
        },
        { sign: '+', depth: 1, text: `realm ${harmless(plan.realm)}` },
      ] satisfies Line[])
    : []
  const blocks = [
    made,
    ...plan.changes
      .filter((change) => !isAdoption(change))
      .map((change) => changeLines(change, plan)),
  ]
  return [
    ...blocks
      .filter((lines) => lines.length > 0)
      .flatMap((lines) => [...lines.map((line) => lineText(line, style)), '']),
    ...unmanaged(plan, style),
    ...warnings(plan, style),
    style.bold(summaryText(plan)),
    ...adoptionText(plan),
    ...problems(plan, style),
  ]
}

const heading = (
  { realm, baseRevision, createRealm, source }: RealmPlan,
  style: Style,
): string[] => [
  style.bold(`Realm ${harmless(realm)}`) +
    ` (${createRealm ? 'new' : `revision ${baseRevision}`}, source ${quoted(source)}):`,
  '',
]

export const planText = (plan: Plan, style: Style): string => {
  const several = plan.realms.length > 1
  const lines = [
    ...(isEmpty(plan) ? [] : header(plan, style)),
    ...plan.realms.flatMap((realm) => [
      ...(several || hasChanges(realm) ? heading(realm, style) : []),
      ...realmText(realm, style),
      ...(several ? [''] : []),
    ]),
    ...(several ? [style.bold(totalText(plan.realms.length, totalOf(plan.realms)))] : []),
  ]
  return `${lines.join('\n')}\n`
}
