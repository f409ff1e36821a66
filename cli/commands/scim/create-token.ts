/** `iamctl scim token create`. */

import { InvalidArgumentError } from 'commander'
import { defaultScimSender, type ScimScope, scimScopes } from '#schemas/wire/scim.ts'
import { command } from '../../invocation/command.ts'
import { choice, flags, list, parsed, text, withDefault } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printValue } from '../../views/human/elements/secret.ts'
import { printJson } from '../../views/json/json.ts'
import { pasteSteps, type SenderName, senderNames } from './senders.ts'

const daySeconds = 24 * 60 * 60
const mostDays = 3650

const days = (given: string): number => {
  const value = Number(given)
  if (!Number.isInteger(value) || value < 0 || value > mostDays)
    throw new InvalidArgumentError(`A whole number of days, ${mostDays} at most; 0 is unlimited.`)
  return value
}

const scope = (given: string): ScimScope => {
  const found = scimScopes.find((one) => one === given)
  if (!found) throw new InvalidArgumentError(`It is ${scimScopes.join(' or ')}.`)
  return found
}

export const createScimToken = command({
  name: 'create',
  description: 'make a token for a sender and print it once',
  help: `
With --for, the command also says what to paste where in the pages of the sender. Tokens of one sender share the external
ids of its users and groups: to rotate a token, make a second one for the same sender, paste it, and revoke the first.
The realm must offer SCIM (provisioning: { scimEnabled: true }).

Examples:
  iamctl scim token create --for entra --realm acme
  iamctl scim token create --sender hr --scope users --days 90 --realm acme -o json`,
  flags: flags(
    {
      for: choice('<sender>', 'also print what to paste where in this product', senderNames),
      sender: text('<name>', 'name of the sender, which its tokens share', {
        fallback: 'the sender of --for, else "default"',
      }),
      scope: list('<what>', 'users or groups; may be repeated', { fallback: 'both' }),
      days: withDefault(parsed('<number>', 'lifetime in days; 0 is unlimited', days), 365),
      label: text('<text>', 'to recognize the token in the list'),
    },
    realmFlags,
  ),
  run: async (call) => {
    const { for: known, sender, scope: given, days: number, label } = call.flags
    const scopes = given.length > 0 ? given.map(scope) : scimScopes
    const { api, realm } = await openRealm(call)
    const made = await api.scim.createToken(realm, {
      expiration: number * daySeconds,
      sender: sender ?? known ?? defaultScimSender,
      scopes: [...new Set(scopes)],
      ...(label === undefined ? {} : { label }),
    })
    const { scimEnabled } = await api.scim.offered(realm)
    return { realm, made, known: known as SenderName | undefined, scimEnabled }
  },
  views: {
    // Alone on standard output, so that a script can take it.
    human:
      () =>
      ({ realm, made, known, scimEnabled }, call) => {
        printValue(made.token)
        note(call, 'store the token now; it is not shown again')
        note(call, pasteSteps(known, made.url))
        if (!scimEnabled)
          note(
            call,
            `realm ${realm} does not take SCIM yet: set provisioning.scimEnabled and run \`iamctl apply\``,
          )
      },
    json:
      () =>
      ({ made, known }) =>
        printJson({ ...made, steps: pasteSteps(known, made.url).split('\n') }),
  },
})
