/** `iamctl clients initial-token`. */

import { InvalidArgumentError } from 'commander'
import { command } from '../../invocation/command.ts'
import { flags, parsed, withDefault } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printValue } from '../../views/human/elements/secret.ts'
import { printJson } from '../../views/json/json.ts'

const daySeconds = 24 * 60 * 60

const wholeUpTo =
  (most: number) =>
  (given: string): number => {
    const value = /^\d{1,7}$/.test(given) ? Number(given) : 0
    if (value < 1 || value > most)
      throw new InvalidArgumentError(`A whole number from 1 to ${most}.`)
    return value
  }

export const initialToken = command({
  name: 'initial-token',
  description: 'make an initial access token, with which clients register themselves',
  help: `
The token is printed once. An application sends it as a bearer token to /realms/REALM/connect/register (RFC 7591); the
realm must offer registration (provisioning.dcrEnabled).

Examples:
  iamctl clients initial-token --realm acme
  iamctl clients initial-token --realm acme --count 50 --days 7`,
  flags: flags(
    {
      count: withDefault(
        parsed('<number>', 'clients that may be registered with it', wholeUpTo(1_000_000)),
        1,
      ),
      days: withDefault(
        parsed('<number>', 'days for which the token is valid', wholeUpTo(3650)),
        1,
      ),
    },
    realmFlags,
  ),
  run: async (call) => {
    const { api, realm } = await openRealm(call)
    const { count, days } = call.flags
    const made = await api.clients.initialToken(realm, { count, expiration: days * daySeconds })
    const { dcrEnabled } = await api.scim.offered(realm)
    return { realm, made, dcrEnabled }
  },
  views: {
    // Alone on standard output, so that a script can take it.
    human:
      () =>
      ({ realm, made, dcrEnabled }, call) => {
        printValue(made.token)
        note(call, 'store the token now; it is not shown again')
        if (!dcrEnabled)
          note(
            call,
            `clients cannot register in realm ${realm} yet: set provisioning.dcrEnabled and run \`iamctl apply\``,
          )
      },
    json:
      () =>
      ({ made }) =>
        printJson(made),
  },
})
