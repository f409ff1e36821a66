/** `iamctl sync directory`: reads the users and groups of a directory now. */

import { setInterval } from 'node:timers/promises'
import type { SyncProgress, SyncStanding } from '#schemas/wire/directory-sync.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { conversation } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import type { SyncOutcome } from '../../views/human/live/directory-sync.ts'
import { printJson } from '../../views/json/json.ts'

interface View {
  /** Whether the work is watched. */
  readonly isWatched: boolean
  readonly show: (outcome: SyncOutcome, call: { readonly quiet: boolean }) => Promise<void>
}

const human: View = {
  isWatched: true,
  show: async (outcome, call) =>
    (await import('../../views/human/live/directory-sync.ts')).showSync(outcome, call),
}

const json: View = {
  isWatched: false,
  show: async ({ realm, directory, report }) => printJson({ realm, directory, ...report }),
}

const removalsOf = (given: string | undefined): number | undefined => {
  if (given === undefined) return undefined
  if (/^\d{1,9}$/.test(given)) return Number(given)
  throw new CommandError(exitCodes.error, `--allow-removals ${given} is not a number`)
}

const askEveryMs = 500

const wordsOf = ({ phase, done, total }: SyncProgress): string =>
  phase === 'read' ? `${done} entries read` : `${done} of ${total ?? done} users written`

/** Tells how far the server is until the work ends; a server that cannot say so is not asked again. */
const watched = async <T>(
  work: Promise<T>,
  ask: () => Promise<SyncStanding>,
  tell: (words: string) => void,
): Promise<T> => {
  const ended = new AbortController()
  const watch = async (): Promise<void> => {
    for await (const _ of setInterval(askEveryMs, undefined, { signal: ended.signal })) {
      const { progress } = await ask()
      if (progress && !ended.signal.aborted) tell(wordsOf(progress))
    }
  }
  watch().catch(() => undefined)
  try {
    return await work
  } finally {
    ended.abort()
  }
}

export const syncDirectory = conversation({
  name: 'directory',
  description: 'read the users and groups of an LDAP directory or Active Directory',
  help: `
Entries become users and groups of the realm; users are known by an id of the directory that never
changes, so that a renamed or moved entry keeps its account. Only entries that changed are read, and
the ids of all; --full reads all entries.

A user whose entry is gone is disabled, deleted or kept, as onMissing of the identity provider says.
A sync that would remove more than maxRemovalPercent of the users or groups, or more than 100, or the
addresses of as many users, ends with exit code 7 and changes nothing; --dry-run too. A directory
that cannot be read, or gives an answer that may not be whole, changes nothing either: exit code 5.

Examples:
  iamctl sync directory corp --realm acme --dry-run
  iamctl sync directory corp --realm acme --dry-run --allow-removals 150
  iamctl sync directory corp --realm acme --allow-removals 150`,
  arguments: [argument('<alias>', 'of the identity provider')],
  flags: flags(
    {
      dryRun: toggle('show what would change, field by field, and change nothing'),
      full: toggle('read all entries, not only those that changed'),
      allowRemovals: text('<n>', 'how many users, groups or addresses may go'),
    },
    realmFlags,
  ),
  views: { human: () => human, json: () => json },
  run: async (call, view: View, alias) => {
    const { api, realm } = await openRealm(call)
    const { dryRun, full } = call.flags
    const options = { dryRun, full, allowRemovals: removalsOf(call.flags.allowRemovals) }
    const { isWatched, runSteps } = await import('../../views/human/elements/progress.ts')
    const quiet = call.quiet || !view.isWatched
    const sync = () => api.directories.sync(realm, alias, options)
    const [report] = await runSteps(
      [
        {
          title: `${dryRun ? 'Compare' : 'Sync'} directory ${alias} with realm ${realm}`,
          work: (tell) =>
            isWatched({ quiet })
              ? watched(sync(), () => api.directories.syncStanding(realm, alias), tell)
              : sync(),
          done: ({ status }) => `directory ${alias}: ${status}`,
        },
      ],
      { quiet },
    )
    if (report) await view.show({ realm, directory: alias, report }, call)
  },
})
