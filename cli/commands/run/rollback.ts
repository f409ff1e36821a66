/** Makes a realm what it was: shows what that changes and what comes back without its secret, asks, and sends it. */

import type { MissingSecret } from '#schemas/wire/wire.ts'
import { secretsFrom } from '../../apply/rollback-secrets.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { underWay } from '../../interruption.ts'
import { fileOptions } from '../../planning/estate/estate.ts'
import { nameOf } from '../../planning/names.ts'
import { approve } from '../../views/human/approval.ts'
import { note } from '../../views/human/elements/note.ts'
import { showWarning } from '../../views/human/elements/warning.ts'
import { showApplied, showChanges } from '../../views/human/show-plan.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { withRealm } from './connection.ts'

const textOf = ({ kind, key, pointers, reason }: MissingSecret): string =>
  reason === 'moved'
    ? `${nameOf(kind, key)} comes back without ${pointers.join(' or ').replaceAll('/', '.').slice(1)}: it would be sent to another place`
    : `${nameOf(kind, key)} comes back without a password or any other credential`

/** A document that cannot work afterwards is left so on purpose only. */
const refuseMoved = (missing: readonly MissingSecret[]): void => {
  const moved = missing.filter(({ reason }) => reason === 'moved')
  if (moved.length === 0) return
  throw new CommandError(
    exitCodes.invalid,
    `missing secrets of ${moved.map(({ kind, key }) => nameOf(kind, key)).join(', ')}; nothing was changed`,
    { hint: 'give --secrets-from PATH, or restore the documents without secrets: --drop-secrets' },
  )
}

export const rollback = (invocation: Invocation, revision: number): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const {
      plan: planOnly,
      autoApprove,
      message,
      secretsFrom: path,
      dropSecrets,
    } = invocation.flags
    const human = invocation.output === 'human'
    const first = await api.rollback(realm, revision, { dryRun: true })
    const secrets =
      typeof path === 'string' && first.missing
        ? await secretsFrom(fileOptions(invocation, [path]), realm, first.missing, {
            env: invocation.env,
            allowExec: invocation.flags['allowExec'] === true,
          })
        : []
    const given = secrets.length === 0 ? {} : { secrets }
    const trial =
      secrets.length === 0 ? first : await api.rollback(realm, revision, { dryRun: true, ...given })
    if (human && trial.changes.length === 0)
      return note(invocation, `No changes. Realm ${realm} is what it was at revision ${revision}.`)
    if (human) showChanges(trial.changes, { ...trial, done: false })
    if (human) for (const one of trial.missing ?? []) showWarning(textOf(one))
    if (planOnly === true || trial.changes.length === 0) {
      if (!human) printJson(trial)
      return
    }
    if (dropSecrets !== true) refuseMoved(trial.missing ?? [])
    if (autoApprove !== true)
      await approve(
        `Do you want to take realm ${realm} back to revision ${revision}?`,
        trial.deleted > 0 ? [realm] : [],
      )
    const reply = await underWay({ realm, baseRevision: trial.revision }, () =>
      api.rollback(realm, revision, {
        // What was shown is what is done, or nothing.
        baseRevision: trial.revision,
        ...given,
        ...(dropSecrets === true ? { dropSecrets } : {}),
        ...(typeof message === 'string' ? { message } : {}),
      }),
    )
    if (human) showApplied([{ realm, outcome: 'applied', reply }])
    else printJson(reply)
  })
