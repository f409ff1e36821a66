/** Messaging providers: the driver belongs to the channel and has what it cannot work without. */

import { messagingDrivers, requiredConfig } from '#schemas/drivers/messaging.ts'
import type { MessagingProviderDoc } from '#schemas/kinds/messaging-provider.ts'
import type { FieldError } from '#schemas/problems.ts'
import type { Behaviour } from '../behaviour.ts'
import { draftValue } from '../drafts.ts'

export const messagingProvider: Behaviour = {
  check: (draft) => {
    const { channel, driver, config } = draftValue<MessagingProviderDoc>(draft)
    const drivers: readonly string[] = messagingDrivers[channel]
    const errors: FieldError[] = drivers.includes(driver)
      ? []
      : [
          {
            field: '/driver',
            code: 'enum',
            message: `must be one of ${drivers.join(', ')} for ${channel}`,
          },
        ]
    for (const key of requiredConfig[driver] ?? [])
      if (!(key in config))
        errors.push({
          field: `/config/${key}`,
          code: 'required',
          message: `is required for ${driver}`,
        })
    return errors
  },
}
