/** Messaging providers: the driver belongs to the channel, has what it cannot work without, and a sender it can name. */

import { gatewayBodyErrors } from '../../drivers/gateway-body.ts'
import { type Channel, driverConfig, messagingDrivers } from '../../drivers/messaging.ts'
import {
  MessagingProvider,
  type MessagingProviderDoc,
} from '../../kinds/notifications/messaging-provider.ts'
import { own } from '../../own.ts'
import type { FieldError } from '../../problems.ts'
import { emailErrors } from '../../text/names.ts'
import { ruleFor } from '../rule.ts'

type Config = MessagingProviderDoc['config']

const driverErrors = (channel: Channel, driver: string): FieldError[] => {
  const drivers: readonly string[] = messagingDrivers[channel]
  if (drivers.includes(driver)) return []
  const message = `must be one of ${drivers.join(', ')} for ${channel}`
  return [{ field: '/driver', code: 'enum', message }]
}

const configErrors = (driver: string, config: Config): FieldError[] => {
  const { required = [], optional = [] } = own(driverConfig, driver) ?? {}
  return [
    ...required
      .filter((key) => !(key in config))
      .map((key) => ({
        field: `/config/${key}`,
        code: 'required',
        message: `is required for ${driver}`,
      })),
    ...Object.keys(config)
      .filter((key) => !required.includes(key) && !optional.includes(key))
      .map((key) => ({
        field: `/config/${key}`,
        code: 'unknown-field',
        message: `is not for ${driver}`,
      })),
  ]
}

/** A number, a name that phones show (letters and digits, 11 at most), or a messaging service of Twilio. */
const smsSender = /^(?:\+?[0-9]{3,15}|[A-Za-z0-9][A-Za-z0-9 ]{0,10}|MG[0-9a-f]{32})$/

const senderErrors = (channel: Channel, address: string | undefined): FieldError[] => {
  if (address === undefined) return []
  const field = '/fromAddress'
  if (channel === 'EMAIL') return emailErrors(address).map((error) => ({ ...error, field }))
  if (channel === 'SMS' && !smsSender.test(address)) {
    const message = 'must be a phone number, or a name of 11 letters and digits at most'
    return [{ field, code: 'format', message }]
  }
  return []
}

/** Headers that say how the request itself travels; and names that are none (RFC 9110 §5.1). */
const isHeader = (name: string): boolean =>
  /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name) &&
  !/^(?:host|content-length|content-type|transfer-encoding|connection|upgrade|te|trailer|expect)$/i.test(
    name,
  )

const headerErrors = ({ headers = {}, authHeader }: Config): FieldError[] => {
  const wrong = (field: string): FieldError => ({
    field,
    code: 'format',
    message: 'must be the name of a header that is yours to set',
  })
  return [
    ...Object.keys(headers)
      .filter((name) => !isHeader(name))
      .map(() => wrong('/config/headers')),
    ...(authHeader === undefined || isHeader(authHeader) ? [] : [wrong('/config/authHeader')]),
  ]
}

const certificateErrors = ({ ca }: Config): FieldError[] =>
  ca === undefined || ca.includes('-----BEGIN CERTIFICATE-----')
    ? []
    : [{ field: '/config/ca', code: 'format', message: 'must be certificates in PEM form' }]

export const messagingProvider = ruleFor<MessagingProviderDoc>(
  MessagingProvider,
  ({ channel, driver, config, fromAddress }) => [
    ...driverErrors(channel, driver),
    ...configErrors(driver, config),
    ...senderErrors(channel, fromAddress),
    ...headerErrors(config),
    ...certificateErrors(config),
    ...(driver === 'http' ? gatewayBodyErrors(config) : []),
  ],
)
