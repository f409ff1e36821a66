/** Requests to a provider through the guarded client: JSON of limited size, no redirect followed, errors without its words. */

import { isObject } from '#schemas/json-schema.ts'
import type { Outgoing, OutgoingRequest } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { UpstreamRefused } from '../../protocol.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export type Ask = (what: string, request: OutgoingRequest) => Promise<Answer>

/** Documents of providers are a few kilobytes. */
const longest = 256 * 1024

export const createAsk =
  (outgoing: Pick<Outgoing, 'request'>): Ask =>
  async (what, request) => {
    try {
      const { status, headers, body } = await outgoing.request({ maxBytes: longest, ...request })
      return { status, headers, text: Buffer.from(body).toString() }
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      throw new UpstreamRefused('unavailable', `${what}: ${error.message}`)
    }
  }

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The body of an answer that has to be a JSON object with status 200. */
export const objectIn = (what: string, { status, text }: Answer): Record<string, unknown> => {
  // A redirect is an answer too: it is not followed, wherever it leads.
  if (status !== 200) throw new UpstreamRefused('unavailable', `${what} is answered with ${status}`)
  const value = parse(text)
  if (!isObject(value)) throw new UpstreamRefused('unavailable', `${what} is no JSON object`)
  return value
}

export const jsonIn = (what: string, { status, text }: Answer): unknown => {
  if (status !== 200) throw new UpstreamRefused('unavailable', `${what} is answered with ${status}`)
  return parse(text)
}
