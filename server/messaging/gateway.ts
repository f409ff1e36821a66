/** One request to a gateway or a vendor, through the guarded client; a refusal is a DeliveryError. */

import type {
  Outgoing,
  OutgoingRequest,
  OutgoingResponse,
} from '#server/platform/outgoing/client.ts'
import { OutgoingError, type OutgoingErrorCode } from '#server/platform/outgoing/errors.ts'
import { DeliveryError } from './driver.ts'

/** What may be better in a while; an address that is not allowed will not be. */
const passing: ReadonlySet<OutgoingErrorCode> = new Set(['outgoing.timeout', 'outgoing.network'])

export const fromOutgoing = (error: unknown): DeliveryError => {
  if (error instanceof DeliveryError) return error
  if (error instanceof OutgoingError)
    return new DeliveryError(error.message, { retryable: passing.has(error.code) })
  throw error
}

/** Asked too early or too often, or the fault of the other side. */
export const isPassing = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500

export const refusedWith = (status: number): DeliveryError =>
  new DeliveryError(`the gateway answered ${status}`, { retryable: isPassing(status) })

/** Whatever it answers. */
export const exchange = (outgoing: Outgoing, request: OutgoingRequest): Promise<OutgoingResponse> =>
  outgoing.request({ maxBytes: 64 * 1024, ...request }).catch((error: unknown) => {
    throw fromOutgoing(error)
  })

export const isTaken = (status: number): boolean => status >= 200 && status < 300

/** The body as a JSON object; empty where it is none. */
export const jsonOf = ({ body }: OutgoingResponse): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString())
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** An id that the other side gave; what is no short text is none. */
export const idOf = (value: unknown): string | undefined =>
  (typeof value === 'string' || typeof value === 'number') &&
  /^[\w<>@.:/=+~-]{1,255}$/.test(`${value}`)
    ? `${value}`
    : undefined
