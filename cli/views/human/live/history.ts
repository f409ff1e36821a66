/** Revisions of a realm: a list, one of them, or what differs between two. */

import type { ChangesetChange, RevisionDetail, RevisionSummary } from '#schemas/wire/wire.ts'
import { summaryOfCounts } from '../../../planning/plan.ts'
import { signsText } from '../../plan/words.ts'
import { printFields } from '../elements/fields.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { moment } from '../elements/values.ts'
import { showChanges } from '../estate/show-plan.ts'

const whoOf = ({ actorName, actor }: RevisionSummary): string => actorName ?? actor

const commitOf = ({ provenance }: RevisionSummary): string =>
  provenance?.['commit']?.slice(0, 10) ?? ''

interface Reader {
  readonly quiet: boolean
}

export const showRevisions = (
  { realm, revisions }: { readonly realm: string; readonly revisions: readonly RevisionSummary[] },
  call: Reader,
): void =>
  revisions.length === 0
    ? note(call, `realm ${realm} has no older revision`)
    : printTable(
        ['revision', 'when', 'who', 'through', 'changes', 'commit', 'message'],
        revisions.map((one) => [
          String(one.revision),
          moment(one.at),
          whoOf(one),
          one.source,
          signsText(summaryOfCounts(one)),
          commitOf(one),
          one.message ?? '',
        ]),
      )

export const showRevision = (detail: RevisionDetail): void => {
  printFields([
    ['revision', String(detail.revision)],
    ['when', moment(detail.at)],
    ['who', whoOf(detail)],
    ['through', detail.source],
    ['message', detail.message ?? ''],
    ...Object.entries(detail.provenance ?? {}),
  ])
  showChanges(detail.changes, { done: true })
}

export interface Difference {
  readonly realm: string
  readonly from: number
  readonly to: number
  readonly changes: readonly ChangesetChange[]
}

export const showDifference = ({ realm, from, to, changes }: Difference, call: Reader): void =>
  changes.length === 0
    ? note(call, `revisions ${from} and ${to} of realm ${realm} are the same`)
    : showChanges(changes, { done: true })
