/** Brings many users into a realm at once, all of them or none. */

import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { CommandError, exitCodes } from '../../exit.ts'
import { importedUsers } from '../../load/imported-users.ts'
import { note } from '../../views/human/note.ts'
import { runSteps } from '../../views/human/progress.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { withRealm } from './connection.ts'

interface ImportFlags {
  readonly ifExists?: 'fail' | 'skip' | 'overwrite'
  readonly dryRun?: boolean
}

const contentOf = async (file: string): Promise<string> => {
  if (file === '-') return text(process.stdin)
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new CommandError(exitCodes.error, `${file} cannot be read`, {
      hint: 'name a file that is there, or - for stdin',
      cause: error,
    })
  }
}

export const importUsers = (invocation: Invocation, file: string): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const { ifExists = 'fail', dryRun = false } = invocation.flags as ImportFlags
    const { users, leftOut } = importedUsers(file, await contentOf(file))
    for (const [field, count] of leftOut)
      note(invocation, `left out, because there is no place for it: ${field} of ${count} users`)
    const summary = ({ added, skipped, overwritten }: Awaited<ReturnType<typeof send>>): string =>
      `${dryRun ? 'would be ' : ''}added ${added}, skipped ${skipped}, overwritten ${overwritten}`
    const send = () => api.users.importAll(realm, users, { ifExists, dryRun })
    const [reply] = await runSteps(
      [{ title: `Importing ${users.length} users into ${realm}`, work: send, done: summary }],
      { quiet: invocation.quiet || invocation.output === 'json' },
    )
    if (reply === undefined) return
    if (invocation.output === 'json') printJson({ realm, dryRun, ...reply })
    else note(invocation, `realm ${realm}: ${summary(reply)}`)
  })
