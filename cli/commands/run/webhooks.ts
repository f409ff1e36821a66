/** Webhooks: what became of deliveries, sending them again, and trying a receiver out. */

import type { DeliveryRecord } from '../../client/webhooks.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { note } from '../../views/human/elements/note.ts'
import { printValue } from '../../views/human/elements/secret.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { moment } from '../../views/human/elements/values.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { agreed } from './agreement.ts'
import { withRealm } from './connection.ts'

const limitOf = ({ flags }: Invocation): number => {
  const limit = Number(flags['limit'])
  if (!Number.isInteger(limit) || limit < 1)
    throw new CommandError(exitCodes.error, `--limit "${flags['limit']}" is not a number`, {
      hint: 'write a whole number, 1 or more',
    })
  return limit
}

const outcomeOf = ({ responseStatus, reason }: DeliveryRecord): string =>
  reason ?? (responseStatus === null ? '' : String(responseStatus))

export const listDeliveries = (invocation: Invocation, name: string): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const { status } = invocation.flags
    const deliveries = await api.webhooks.deliveries(realm, name, {
      limit: limitOf(invocation),
      ...(typeof status === 'string' ? { status: status.toUpperCase() } : {}),
    })
    if (invocation.output === 'json') return printJson(deliveries)
    if (deliveries.length === 0) return note(invocation, `webhook ${name} has no such deliveries`)
    return printTable(
      ['delivery', 'event', 'status', 'attempts', 'made', 'next attempt', 'outcome'],
      deliveries.map((delivery) => [
        delivery.id,
        delivery.eventType ?? '',
        delivery.status.toLowerCase(),
        String(delivery.attempts),
        moment(delivery.createdAt),
        moment(delivery.nextAttemptAt),
        outcomeOf(delivery),
      ]),
    )
  })

export const redeliver = async (
  invocation: Invocation,
  name: string,
  id: string | undefined,
): Promise<void> => {
  if ((id === undefined) === (invocation.flags['failed'] !== true))
    throw new CommandError(exitCodes.error, 'name a delivery, or all that failed with --failed', {
      hint: `\`iamctl webhooks deliveries ${name}\` shows them`,
    })
  await withRealm(invocation, async ({ api }, realm) => {
    const failed = { status: 'FAILED', limit: Number.POSITIVE_INFINITY }
    const ids =
      id === undefined
        ? (await api.webhooks.deliveries(realm, name, failed)).map((one) => one.id)
        : [id]
    const again: DeliveryRecord[] = []
    for (const one of ids) again.push(await api.webhooks.redeliver(realm, name, one))
    if (invocation.output === 'json') return printJson(again)
    const count = again.length === 1 ? '1 delivery is' : `${again.length} deliveries are`
    return note(invocation, `${count} sent again to webhook ${name}`)
  })
}

export const testWebhook = (invocation: Invocation, name: string): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const outcome = await api.webhooks.test(realm, name)
    if (invocation.output === 'json') printJson(outcome)
    const { delivered, responseStatus, durationMs, reason } = outcome
    if (!delivered)
      throw new CommandError(exitCodes.error, `the test delivery did not arrive: ${reason}`, {
        hint: 'check that the address answers with 2xx; `iamctl webhooks deliveries` shows the attempts',
      })
    note(invocation, `webhook ${name} answered ${responseStatus} in ${durationMs} ms`)
  })

/** Printed alone, so that a script can take it from standard output. */
export const webhookSecret = (invocation: Invocation, name: string): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    await agreed(
      invocation,
      `Replace the secret of webhook ${name} in realm ${realm}? Receivers that know only the old one refuse deliveries in a day.`,
    )
    const made = await api.webhooks.newSecret(realm, name)
    if (invocation.output === 'json') return printJson(made)
    printValue(made.value)
    note(invocation, 'store the secret now; it is not shown again')
  })
