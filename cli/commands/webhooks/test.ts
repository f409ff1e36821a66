/** `iamctl webhooks test`. */

import type { TestDelivery } from '#schemas/wire/records.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'
import { webhookArgument } from './named.ts'

interface Tested {
  readonly webhook: string
  readonly outcome: TestDelivery
}

const tell = ({ webhook, outcome }: Tested, call: { readonly quiet: boolean }): void => {
  const { delivered, responseStatus, durationMs } = outcome
  if (delivered) note(call, `webhook ${webhook} answered ${responseStatus} in ${durationMs} ms`)
}

export const testWebhook = command({
  name: 'test',
  description: 'send a signed test delivery; a delivery that does not arrive is an error',
  help: '\nExample:\n  iamctl webhooks test siem --realm acme',
  arguments: [webhookArgument],
  flags: realmFlags,
  run: async (call, webhook) => {
    const { api, realm } = await openRealm(call)
    return { webhook, outcome: await api.webhooks.test(realm, webhook) }
  },
  views: {
    human: () => tell,
    json: () => (tested, call) => {
      printJson(tested.outcome)
      tell(tested, call)
    },
  },
  conclude: ({ outcome: { delivered, reason } }) => {
    if (delivered) return undefined
    throw new CommandError(exitCodes.error, `the test delivery did not arrive: ${reason}`, {
      hint: 'check that the address answers with 2xx; `iamctl webhooks deliveries` shows the attempts',
    })
  },
})
