/** SCIM targets, one a line, and below them what failed. */

import type { ScimStanding } from '#schemas/wire/scim-targets.ts'
import { printOut } from '../../streams.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { harmless } from '../elements/text.ts'
import { moment } from '../elements/values.ts'

export interface TargetStatus extends ScimStanding {
  readonly target: string
}

const stateOf = ({ enabled, users, groups, held, nextAttemptAt }: TargetStatus): string => {
  if (!enabled) return 'disabled'
  if (nextAttemptAt !== null) return 'away'
  if (held > 0) return 'held'
  const { waiting, failed } = {
    waiting: users.waiting + groups.waiting,
    failed: users.failed + groups.failed,
  }
  if (waiting > failed) return 'sending'
  return failed > 0 ? 'failing' : 'in step'
}

const lineOf = (one: TargetStatus): string[] => [
  one.target,
  stateOf(one),
  String(one.users.known),
  String(one.users.waiting + one.groups.waiting),
  String(one.users.failed + one.groups.failed),
  String(one.held),
  moment(one.lastSyncAt),
  harmless(one.lastError ?? ''),
]

export const showScimStatus = (
  { realm, targets }: { readonly realm: string; readonly targets: readonly TargetStatus[] },
  call: { readonly quiet: boolean },
): void => {
  if (targets.length === 0) {
    note(call, `realm ${realm} has no SCIM targets`)
    return
  }
  printTable(
    ['target', 'state', 'users', 'waiting', 'failed', 'held', 'last sync', 'error'],
    targets.map(lineOf),
  )
  for (const { target, failures } of targets)
    for (const { kind, name, problem } of failures)
      printOut(`  ! ${harmless(target)}: ${kind} ${harmless(name)}: ${harmless(problem)}`)
}
