/** The changes of an import, and the secrets that the server generated for it. */

import type { ImportReply } from '#schemas/wire/wire.ts'
import type { ImportView } from '../../../transfer/import.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { showChanges } from '../estate/show-plan.ts'

/** Told once: a server that keeps hashes can never show them again. */
const showMade = (
  call: { readonly quiet: boolean },
  { madeSecrets = [] }: Partial<ImportReply>,
): void => {
  if (madeSecrets.length === 0) return
  printTable(
    ['document', 'field', 'generated value'],
    madeSecrets.map(({ kind, key, pointer, value }) => [`${kind} ${key}`, pointer.slice(1), value]),
  )
  note(call, 'store these secrets now; they are not shown again')
}

export const importView: ImportView = {
  preview: (trial) => showChanges(trial.changes, { ...trial, done: false }),
  ended: () => undefined,
  imported: (reply, { realm, isNew, quiet }) => {
    showMade({ quiet }, reply)
    const done = isNew ? `made realm ${realm} and imported into it` : `imported into realm ${realm}`
    note({ quiet }, `${done}: revision ${reply.revision}`)
  },
}
