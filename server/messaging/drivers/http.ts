/** Mail and SMS through any gateway that takes one HTTP request a message, as the provider's config describes it. */

import { defaultContentType, gatewayBody } from '#schemas/drivers/gateway-body.ts'
import type { DriverTools, MessagingDriver, Provider } from '../driver.ts'
import { exchange, idOf, isTaken, jsonOf, refusedWith } from '../gateway.ts'

/** The secret travels in a header of its own and in nothing else. */
const authOf = ({ config, secret }: Provider): Record<string, string> => {
  if (secret === undefined) return {}
  const { authHeader = 'Authorization' } = config
  const usual = authHeader.toLowerCase() === 'authorization' ? 'Bearer' : ''
  return { [authHeader]: `${config.authScheme ?? usual} ${secret}`.trim() }
}

export const createHttpGateway = ({ outgoing }: DriverTools): MessagingDriver => ({
  name: 'http',
  channels: ['EMAIL', 'SMS'],
  lacks: () => undefined,
  send: async (to, message, provider) => {
    const { config, fromAddress = '', fromName = '' } = provider
    const { subject, text, html = '' } = message
    const response = await exchange(outgoing, {
      url: config.url ?? '',
      method: config.method ?? 'POST',
      headers: {
        ...config.headers,
        'content-type': config.contentType ?? defaultContentType,
        'idempotency-key': message.id,
        ...authOf(provider),
      },
      body: gatewayBody(config, { to, from: fromAddress, fromName, subject, text, html }),
    })
    if (!isTaken(response.status)) throw refusedWith(response.status)
    const { messageId, id, message_id: other } = jsonOf(response)
    return { messageId: idOf(messageId) ?? idOf(id) ?? idOf(other) ?? message.id }
  },
})
