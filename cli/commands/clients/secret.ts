/** `iamctl clients secret`. */

import { CommandError, exitCodes } from '../../exit.ts'
import { agreed } from '../../invocation/agreement.ts'
import { command } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag, realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printValue } from '../../views/human/elements/secret.ts'
import { printJson } from '../../views/json/json.ts'

/** As long as the server lets an old secret live. */
const longestGrace = 30 * 24 * 3600

const graceOf = (given = '0'): number => {
  const seconds = /^\d{1,7}$/.test(given) ? Number(given) : Number.NaN
  if (seconds <= longestGrace) return seconds
  throw new CommandError(exitCodes.error, `--grace "${given}" is not a number of seconds`, {
    hint: `give a whole number from 0 to ${longestGrace}`,
  })
}

export const clientSecret = command({
  name: 'secret',
  description: 'show or replace the secret of a client',
  help: `
Without --rotate the secret is printed if the realm keeps secrets readable (clientSecretStorage: revealable). With --rotate
the server generates a new secret and prints it once. The secret before it stays valid for --grace seconds.

Examples:
  iamctl clients secret web --rotate --realm acme --auto-approve
  iamctl clients secret web --rotate --grace 3600 --realm acme --auto-approve -o json`,
  arguments: [argument('<client>', 'client id')],
  flags: flags(
    {
      rotate: toggle('generate a new secret and print it once'),
      grace: text('<seconds>', 'time for which the old secret stays valid', { fallback: '0' }),
    },
    approvalFlag,
    realmFlags,
  ),
  run: async (call, client) => {
    const { api, realm } = await openRealm(call)
    const { rotate } = call.flags
    const grace = graceOf(call.flags.grace)
    if (rotate)
      await agreed(
        call,
        `Replace the secret of client ${client} in realm ${realm}? Applications that use the old one fail ${grace === 0 ? 'at once' : `in ${grace} seconds`}.`,
      )
    const found = rotate
      ? await api.clients.rotateSecret(realm, client, grace)
      : await api.clients.secret(realm, client)
    return { client, rotate, found }
  },
  views: {
    // Alone on standard output, so that a script can take it.
    human:
      () =>
      ({ client, rotate, found: { value, secretSet } }, call) => {
        if (value === null)
          throw new CommandError(
            exitCodes.error,
            secretSet
              ? `the realm keeps a hash of the secret of client ${client}, not its value`
              : `client ${client} has no secret`,
            { hint: 'run the command with --rotate for a new one' },
          )
        printValue(value)
        if (rotate) note(call, 'store the secret now; it is not shown again')
      },
    json:
      () =>
      ({ found }) =>
        printJson(found),
  },
})
