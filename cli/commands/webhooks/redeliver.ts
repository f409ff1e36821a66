/** `iamctl webhooks redeliver`. */

import type { DeliveryRecord } from '#schemas/wire/records.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { flags, toggle } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { shellWord } from '../../shell-word.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'
import { webhookArgument } from './named.ts'

export const redeliver = command({
  name: 'redeliver',
  description: 'send deliveries again now, with the same id',
  help: `
Examples:
  iamctl webhooks redeliver siem 0198c0de-0000-7000-8000-000000000000 --realm acme
  iamctl webhooks redeliver siem --failed --realm acme`,
  arguments: [webhookArgument, argument('[id]', 'of the delivery')],
  flags: flags({ failed: toggle('all failed deliveries') }, realmFlags),
  run: async (call, webhook, id) => {
    if ((id === undefined) === !call.flags.failed)
      throw new CommandError(exitCodes.error, 'name a delivery, or all that failed with --failed', {
        hint: `\`iamctl webhooks deliveries ${shellWord(webhook)}\` shows them`,
      })
    const { api, realm } = await openRealm(call)
    const failed = { status: 'FAILED', limit: Number.POSITIVE_INFINITY }
    const ids =
      id === undefined
        ? (await api.webhooks.deliveries(realm, webhook, failed)).map((one) => one.id)
        : [id]
    const again: DeliveryRecord[] = []
    for (const one of ids) again.push(await api.webhooks.redeliver(realm, webhook, one))
    return { webhook, again }
  },
  views: {
    human:
      () =>
      ({ webhook, again }, call) => {
        const count = again.length === 1 ? '1 delivery is' : `${again.length} deliveries are`
        note(call, `${count} sent again to webhook ${webhook}`)
      },
    json:
      () =>
      ({ again }) =>
        printJson(again),
  },
})
