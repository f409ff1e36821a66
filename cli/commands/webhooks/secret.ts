/** `iamctl webhooks secret`. */

import { agreed } from '../../invocation/agreement.ts'
import { command } from '../../invocation/command.ts'
import { flags } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag, realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printValue } from '../../views/human/elements/secret.ts'
import { printJson } from '../../views/json/json.ts'
import { webhookArgument } from './named.ts'

export const webhookSecret = command({
  name: 'secret',
  description:
    'generate a new secret and print it once; the old secret also signs for one more day',
  help: '\nExample:\n  iamctl webhooks secret siem --realm acme --auto-approve',
  arguments: [webhookArgument],
  flags: flags(approvalFlag, realmFlags),
  run: async (call, webhook) => {
    const { api, realm } = await openRealm(call)
    await agreed(
      call,
      `Replace the secret of webhook ${webhook} in realm ${realm}? Receivers that know only the old one refuse deliveries in a day.`,
    )
    return api.webhooks.newSecret(realm, webhook)
  },
  views: {
    // Alone on standard output, so that a script can take it.
    human:
      () =>
      ({ value }, call) => {
        printValue(value)
        note(call, 'store the secret now; it is not shown again')
      },
    json: () => printJson,
  },
})
