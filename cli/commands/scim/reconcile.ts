/** `iamctl scim reconcile`: compares a SCIM target with the realm, and sends what is different. */

import { setTimeout as wait } from 'node:timers/promises'
import type { ScimStanding } from '#schemas/wire/scim-targets.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { conversation } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import type { ReconcileOutcome } from '../../views/human/live/scim-reconcile.ts'
import { printJson } from '../../views/json/json.ts'

interface View {
  readonly isWatched: boolean
  readonly show: (outcome: ReconcileOutcome, call: { readonly quiet: boolean }) => Promise<void>
}

const human: View = {
  isWatched: true,
  show: async (outcome, call) =>
    (await import('../../views/human/live/scim-reconcile.ts')).showReconcile(outcome, call),
}

const json: View = {
  isWatched: false,
  show: async ({ realm, target, report, standing }) =>
    printJson({ realm, target, ...report, standing }),
}

const removalsOf = (given: string | undefined): number | undefined => {
  if (given === undefined) return undefined
  if (/^\d{1,9}$/.test(given)) return Number(given)
  throw new CommandError(exitCodes.error, `--allow-removals ${given} is not a number of users`)
}

const askEveryMs = 500

const waitingIn = ({ users, groups }: ScimStanding): number => users.waiting + groups.waiting
const failedIn = ({ users, groups }: ScimStanding): number => users.failed + groups.failed

/** Whether nothing more will be sent for now: all is there, or failed, or the target is away. */
const isOver = (standing: ScimStanding): boolean =>
  waitingIn(standing) - failedIn(standing) - standing.held <= 0 || standing.nextAttemptAt !== null

/** Waits until the differences are sent. */
const sent = async (
  ask: () => Promise<ScimStanding>,
  tell: (words: string) => void,
): Promise<ScimStanding> => {
  let standing = await ask()
  const total = waitingIn(standing)
  while (!isOver(standing)) {
    tell(`${Math.max(0, total - waitingIn(standing))} of ${total} sent`)
    await wait(askEveryMs)
    standing = await ask()
  }
  return standing
}

export const reconcileScim = conversation({
  name: 'reconcile',
  description: 'compare a SCIM target with the realm, and send what is different',
  help: `
Reads all users and groups of the target and shows what is different, attribute by attribute. Without
--dry-run the differences are sent, and the command waits until they are. Users of the target that
match no user of the realm are counted and left alone.

A reconcile that would deactivate or delete more than 10 % of the users at the target (at least 10,
at most 100) ends with exit code 7 and sends nothing. A target that cannot be read: exit code 5. A
change that the target refuses is shown, and the command ends with exit code 1.

The server sends every change by itself within seconds. This command is for a target that others
change, and for the first look at one.

Examples:
  iamctl scim reconcile chat --realm acme --dry-run
  iamctl scim reconcile chat --realm acme --allow-removals 150`,
  arguments: [argument('<target>', 'name or id of the SCIM target')],
  flags: flags(
    {
      dryRun: toggle('show what is different, and send nothing'),
      allowRemovals: text('<n>', 'how many users may be deactivated or deleted at the target'),
    },
    realmFlags,
  ),
  views: { human: () => human, json: () => json },
  run: async (call, view: View, target) => {
    const { api, realm } = await openRealm(call)
    const { dryRun } = call.flags
    const options = { dryRun, allowRemovals: removalsOf(call.flags.allowRemovals) }
    const { runSteps } = await import('../../views/human/elements/progress.ts')
    const quiet = call.quiet || !view.isWatched
    const [outcome] = await runSteps(
      [
        {
          title: `${dryRun ? 'Compare' : 'Reconcile'} SCIM target ${target} with realm ${realm}`,
          work: async (tell): Promise<ReconcileOutcome> => {
            const report = await api.scimTargets.reconcile(realm, target, options)
            const ask = () => api.scimTargets.status(realm, target)
            return { realm, target, report, standing: dryRun ? null : await sent(ask, tell) }
          },
          done: ({ report }) => `SCIM target ${target}: ${report.status}`,
        },
      ],
      { quiet },
    )
    if (!outcome) return
    await view.show(outcome, call)
    const { standing } = outcome
    if (standing?.nextAttemptAt)
      throw new CommandError(
        exitCodes.unreachable,
        `the target did not take everything: ${standing.lastError ?? 'it cannot be reached'}`,
        { hint: 'the server tries again by itself; `iamctl doctor` says what is wrong' },
      )
    if (standing && failedIn(standing) > 0)
      throw new CommandError(
        exitCodes.error,
        `${failedIn(standing)} changes were refused by the target`,
        { hint: 'the server tries them again by itself; correct the named users or the mapping' },
      )
  },
})
