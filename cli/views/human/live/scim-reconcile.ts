/** How a SCIM target differs from the realm, in the form of a plan. */

import type {
  ScimChange,
  ScimFieldChange,
  ScimReport,
  ScimStanding,
} from '#schemas/wire/scim-targets.ts'
import { printOut } from '../../streams.ts'
import { note } from '../elements/note.ts'
import { harmless } from '../elements/text.ts'

export interface ReconcileOutcome {
  readonly realm: string
  readonly target: string
  readonly report: ScimReport
  /** After the differences were sent; null of a dry run. */
  readonly standing: ScimStanding | null
}

const signs: Readonly<Record<ScimChange['op'], string>> = {
  create: '+',
  adopt: '~',
  update: '~',
  deactivate: '-',
  delete: '-',
}

const shownValue = (value: ScimFieldChange['after']): string =>
  typeof value === 'string' ? JSON.stringify(harmless(value)) : String(value)

const fieldLine = ({ field, before, after }: ScimFieldChange): string =>
  `      ${harmless(field)}: ${shownValue(before)} -> ${shownValue(after)}`

const changeLines = ({ op, kind, name, fields }: ScimChange): string[] => [
  `  ${signs[op]} ${kind} ${harmless(name)} (${op})`,
  ...fields.map(fieldLine),
]

export const showReconcile = (
  { realm, target, report, standing }: ReconcileOutcome,
  call: { readonly quiet: boolean },
): void => {
  const { changes, created, adopted, updated, removed, strangers, status } = report
  const total = created + adopted + updated + removed
  for (const line of changes.flatMap(changeLines)) printOut(line)
  if (total > changes.length) printOut(`  … and ${total - changes.length} more`)
  for (const { kind, name, problem } of standing?.failures ?? [])
    printOut(`  ! ${kind} ${harmless(name)}: ${harmless(problem)}`)
  note(call, `SCIM target ${target}, realm ${realm}: ${status}`)
  if (strangers > 0)
    note(call, `users of the target that match no user of the realm, left alone: ${strangers}`)
}
