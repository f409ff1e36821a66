/** What a sync of a directory did, or would do, in the form of a plan. */

import type { FieldChange, SyncReport, UserChange } from '#schemas/wire/directory-sync.ts'
import { printOut } from '../../streams.ts'
import { note } from '../elements/note.ts'
import { harmless } from '../elements/text.ts'

export interface SyncOutcome {
  readonly realm: string
  readonly directory: string
  readonly report: SyncReport
}

const signs: Readonly<Record<UserChange['op'], string>> = {
  add: '+',
  update: '~',
  enable: '~',
  disable: '-',
  delete: '-',
}

const shownValue = (value: FieldChange['after']): string =>
  typeof value === 'string' ? JSON.stringify(harmless(value)) : String(value)

const fieldLine = ({ field, before, after }: FieldChange): string =>
  `      ${field}: ${shownValue(before)} -> ${shownValue(after)}`

const changeLines = ({ op, username, fields }: UserChange): string[] => [
  `  ${signs[op]} ${harmless(username)} (${op})`,
  ...(op === 'add' || op === 'delete' ? [] : fields.map(fieldLine)),
]

export const showSync = (
  { realm, directory, report }: SyncOutcome,
  call: { readonly quiet: boolean },
): void => {
  const { changes, failures, groups, ignored, status, added, updated, removed, failed } = report
  const total = added + updated + removed
  for (const line of changes.flatMap(changeLines)) printOut(line)
  if (report.dryRun && total > changes.length) printOut(`  … and ${total - changes.length} more`)
  for (const { name, problem } of failures) printOut(`  ! ${harmless(name)}: ${harmless(problem)}`)
  if (failed > failures.length) printOut(`  … and ${failed - failures.length} more that failed`)
  const { joined, left } = groups
  const moved = groups.added + groups.updated + groups.removed + joined + left
  note(
    call,
    `directory ${directory}, realm ${realm}: ${ignored ? `nothing done, ${status}` : status}`,
  )
  if (moved > 0)
    note(
      call,
      `groups: ${groups.added} added, ${groups.updated} renamed, ${groups.removed} removed; members: ${joined} joined, ${left} left`,
    )
}
