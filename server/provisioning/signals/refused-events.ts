/**
 * Tells the log of events that a receiver refuses (RFC 8935 §2.3, RFC 8936 §2.6). They are not sent again, so that a receiver with a wrong
 * issuer, audience or key would lose each of them unnoticed.
 */

import { isObject } from '#schemas/json-schema.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import { printable } from '#server/users/names.ts'

const longestText = 255

const textIn = (error: unknown, member: string): string | undefined => {
  const value = isObject(error) ? error[member] : undefined
  return typeof value === 'string' ? printable(value, longestText) : undefined
}

/** What is said of the events of one answer or request: one line, with the first error. */
export type TellRefused = (
  stream: Pick<SignalStreamRow, 'id' | 'realm' | 'client_id'>,
  errors: Readonly<Record<string, unknown>>,
) => void

export const createTellRefused =
  (logger: Pick<Logger, 'warn'>): TellRefused =>
  ({ id, realm, client_id }, errors) => {
    const [[event, error] = []] = Object.entries(errors)
    if (event === undefined) return
    const [err, description] = ['err', 'description'].map((member) => textIn(error, member))
    const events = Object.keys(errors).length
    logger.warn(
      {
        realm,
        client: client_id,
        stream: id,
        events,
        event: printable(event, longestText),
        err,
        description,
      },
      'a receiver refuses security events',
    )
  }
