/** Makes a realm what it was: shows what that changes, asks, and sends it. */

import { approve } from '../../views/human/approval.ts'
import { note } from '../../views/human/note.ts'
import { showApplied, showChanges } from '../../views/human/show-plan.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { withRealm } from './connection.ts'

export const rollback = (invocation: Invocation, revision: number): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const { plan: planOnly, autoApprove, message } = invocation.flags
    const human = invocation.output === 'human'
    const trial = await api.rollback(realm, revision, { dryRun: true })
    if (human && trial.changes.length === 0)
      return note(invocation, `No changes. Realm ${realm} is what it was at revision ${revision}.`)
    if (human) showChanges(trial.changes, { ...trial, done: false })
    if (planOnly === true || trial.changes.length === 0) {
      if (!human) printJson(trial)
      return
    }
    if (autoApprove !== true)
      await approve(
        `Do you want to take realm ${realm} back to revision ${revision}?`,
        trial.deleted > 0 ? [realm] : [],
      )
    const reply = await api.rollback(realm, revision, {
      // What was shown is what is done, or nothing.
      baseRevision: trial.revision,
      ...(typeof message === 'string' ? { message } : {}),
    })
    if (human) showApplied([{ realm, outcome: 'applied', reply }])
    else printJson(reply)
  })
