/**
 * Writes messages to the log instead of sending them, codes and links included: for `iamctl dev`, whose dashboard shows
 * them. It is active only with `--log-messages`, and only for channels without an enabled provider.
 */

import { channels } from '#schemas/drivers/messaging.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { MessagingDriver } from '../driver.ts'

export const createLogDriver = (logger: Logger): MessagingDriver => ({
  name: 'log',
  channels,
  lacks: () => undefined,
  send: async (to, { id, subject, text }, { realm, channel }) => {
    logger.info({ kind: 'message', id, realm, channel, to, subject, text }, 'message')
    return { messageId: id }
  },
})
