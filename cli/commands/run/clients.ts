/** The secret of a client: printed alone, so that a script can take it from standard output. */

import { CommandError, exitCodes } from '../../exit.ts'
import { note } from '../../views/human/elements/note.ts'
import { printValue } from '../../views/human/elements/secret.ts'
import { printJson } from '../../views/json/json.ts'
import { type Invocation, textOf } from '../invocation.ts'
import { agreed } from './agreement.ts'
import { withRealm } from './connection.ts'

/** As long as the server lets an old secret live. */
const longestGrace = 30 * 24 * 3600

const graceOf = (invocation: Invocation): number => {
  const text = textOf(invocation, 'grace') ?? '0'
  const seconds = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN
  if (seconds <= longestGrace) return seconds
  throw new CommandError(exitCodes.error, `--grace "${text}" is not a number of seconds`, {
    hint: `give a whole number from 0 to ${longestGrace}`,
  })
}

export const clientSecret = (invocation: Invocation, client: string): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const rotates = invocation.flags['rotate'] === true
    const grace = graceOf(invocation)
    if (rotates)
      await agreed(
        invocation,
        `Replace the secret of client ${client} in realm ${realm}? Applications that use the old one fail ${grace === 0 ? 'at once' : `in ${grace} seconds`}.`,
      )
    const found = rotates
      ? await api.clients.rotateSecret(realm, client, grace)
      : await api.clients.secret(realm, client)
    if (invocation.output === 'json') return printJson(found)
    if (found.value === null)
      throw new CommandError(
        exitCodes.error,
        found.secretSet
          ? `the realm keeps a hash of the secret of client ${client}, not its value`
          : `client ${client} has no secret`,
        { hint: 'run the command with --rotate for a new one' },
      )
    printValue(found.value)
    if (rotates) note(invocation, 'store the secret now; it is not shown again')
  })
