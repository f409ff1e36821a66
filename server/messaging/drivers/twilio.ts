/** SMS through Twilio's Messages resource, with the account's token or an API key. */

import { DeliveryError, type DriverTools, firstMissing, type MessagingDriver } from '../driver.ts'
import { exchange, idOf, isPassing, isTaken, jsonOf } from '../gateway.ts'

const usualUrl = 'https://api.twilio.com'

export const createTwilio = ({ outgoing }: DriverTools): MessagingDriver => ({
  name: 'twilio',
  channels: ['SMS'],
  lacks: (provider) => firstMissing(provider, ['fromAddress', 'secret']),
  send: async (to, message, { config, secret = '', fromAddress = '' }) => {
    const { accountSid = '', username = accountSid, url = usualUrl } = config
    const path = `/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/Messages.json`
    const sender = fromAddress.startsWith('MG') ? 'MessagingServiceSid' : 'From'
    const response = await exchange(outgoing, {
      url: new URL(path, url).href,
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ To: to, [sender]: fromAddress, Body: message.text }).toString(),
    })
    const { sid, code } = jsonOf(response)
    if (isTaken(response.status)) return { messageId: idOf(sid) ?? message.id }
    const { status } = response
    const detail = typeof code === 'number' ? `, error ${code}` : ''
    throw new DeliveryError(`Twilio answered ${status}${detail}`, { retryable: isPassing(status) })
  },
})
