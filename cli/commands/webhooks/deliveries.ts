/** `iamctl webhooks deliveries`. */

import { CommandError, exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { choice, flags, text, withDefault } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'
import { webhookArgument } from './named.ts'

const limitOf = (given: string): number => {
  const limit = Number(given)
  if (!Number.isInteger(limit) || limit < 1)
    throw new CommandError(exitCodes.error, `--limit "${given}" is not a number`, {
      hint: 'write a whole number, 1 or more',
    })
  return limit
}

export const listDeliveries = command({
  name: 'deliveries',
  description: 'list the deliveries of a webhook, newest first',
  help: '\nExample:\n  iamctl webhooks deliveries siem --realm acme --status failed',
  arguments: [webhookArgument],
  flags: flags(
    {
      status: choice('<status>', 'only those', ['pending', 'delivered', 'failed']),
      limit: withDefault(text('<number>', 'maximum of results'), '50'),
    },
    realmFlags,
  ),
  run: async (call, webhook) => {
    const { api, realm } = await openRealm(call)
    const { status, limit } = call.flags
    const deliveries = await api.webhooks.deliveries(realm, webhook, {
      limit: limitOf(limit),
      ...(status === undefined ? {} : { status: status.toUpperCase() }),
    })
    return { webhook, deliveries }
  },
  views: {
    human: async () => (await import('../../views/human/live/deliveries.ts')).showDeliveries,
    json:
      () =>
      ({ deliveries }) =>
        printJson(deliveries),
  },
})
