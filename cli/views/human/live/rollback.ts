/** The changes of a rollback, and the documents that are restored without their secret. */

import type { MissingSecret } from '#schemas/wire/wire.ts'
import type { RollbackView } from '../../../apply/rollback.ts'
import { nameOf } from '../../../planning/names.ts'
import { note } from '../elements/note.ts'
import { showWarning } from '../elements/warning.ts'
import { showApplied, showChanges } from '../estate/show-plan.ts'

const textOf = ({ kind, key, pointers, reason }: MissingSecret): string =>
  reason === 'moved'
    ? `${nameOf(kind, key)} comes back without ${pointers.join(' or ').replaceAll('/', '.').slice(1)}: it would be sent to another place`
    : `${nameOf(kind, key)} comes back without a password or any other credential`

export const rollbackView: RollbackView = {
  preview: (trial, { realm, revision, quiet }) => {
    if (trial.changes.length === 0)
      return note({ quiet }, `No changes. Realm ${realm} is what it was at revision ${revision}.`)
    showChanges(trial.changes, { ...trial, done: false })
    for (const one of trial.missing ?? []) showWarning(textOf(one))
  },
  ended: () => undefined,
  applied: (realm, reply) => showApplied([{ realm, outcome: 'applied', reply }]),
}
