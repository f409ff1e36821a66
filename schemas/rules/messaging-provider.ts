/** Messaging providers: the driver belongs to the channel and has what it cannot work without. */

import { messagingDrivers, requiredConfig } from '../drivers/messaging.ts'
import { MessagingProvider, type MessagingProviderDoc } from '../kinds/messaging-provider.ts'
import type { FieldError } from '../problems.ts'
import { ruleFor } from './rule.ts'

export const messagingProvider = ruleFor<MessagingProviderDoc>(
  MessagingProvider,
  ({ channel, driver, config }) => {
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
)
