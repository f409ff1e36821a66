/** Deliveries of a webhook, one a line. */

import type { DeliveryRecord } from '#schemas/wire/records.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { moment } from '../elements/values.ts'

const outcomeOf = ({ responseStatus, reason }: DeliveryRecord): string =>
  reason ?? (responseStatus === null ? '' : String(responseStatus))

export interface DeliveryList {
  readonly webhook: string
  readonly deliveries: readonly DeliveryRecord[]
}

export const showDeliveries = (
  { webhook, deliveries }: DeliveryList,
  call: { readonly quiet: boolean },
): void =>
  deliveries.length === 0
    ? note(call, `webhook ${webhook} has no such deliveries`)
    : printTable(
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
