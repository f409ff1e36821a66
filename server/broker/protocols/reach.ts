/**
 * Checks an address of a provider, for `iamctl doctor`: whether it answers, its clock, and the expiry of its certificate.
 */

import { error, type Finding, warning } from '#schemas/wire/findings.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { ClientIdentity, Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { peerCertificate } from '#server/platform/outgoing/peer-certificate.ts'

export interface ReachParts {
  readonly outgoing: Pick<Outgoing, 'request' | 'resolve'>
  readonly clock: Clock
}

interface Place {
  /** The field or the endpoint that the address is. */
  readonly name: string
  readonly url: string
  /** Whether this server needs the address: a browser may reach what this server does not. */
  readonly isNeeded: boolean
  readonly client?: ClientIdentity | undefined
}

/** From how many milliseconds on the clock of a provider is worth a warning, and from how many on sign-ins fail. */
export interface Tolerance {
  readonly warnMs: number
  readonly failMs: number
}

const soonMs = 30 * 86_400_000

const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** By the Date header (RFC 9110 §6.6.1), which has whole seconds. */
const clockFindings = (
  date: string | undefined,
  now: number,
  { warnMs, failMs }: Tolerance,
): Finding[] => {
  const off = Date.parse(date ?? '') - now
  const away = Math.abs(off) - 1000
  if (Number.isNaN(off) || away <= warnMs) return []
  const words = `the clock of the provider is ${Math.round(Math.abs(off) / 1000)} seconds ${off > 0 ? 'ahead' : 'behind'}`
  const remedy =
    'set the clock of this server by NTP, and ask the operator of the provider to do the same'
  return away > failMs
    ? [error('provider-clock', `${words}: its answers are refused`, remedy)]
    : [warning('provider-clock', words, remedy)]
}

const tlsFindings = async (
  { outgoing, clock }: ReachParts,
  { name, url }: Place,
): Promise<Finding[]> => {
  const certificate = await peerCertificate(outgoing, url)
  if (!certificate || certificate.expiresAt > clock.now() + soonMs) return []
  const { host, expiresAt } = certificate
  return [
    warning(
      'provider-tls',
      `the TLS certificate of ${host} (${name}) expires on ${dateOf(expiresAt)}`,
      'ask the operator of the provider to renew it; after that date the server refuses to connect',
    ),
  ]
}

/** Any HTTP status is an answer: an endpoint for POST has no other for HEAD. */
export const reachFindings = async (
  parts: ReachParts,
  place: Place,
  tolerance: Tolerance,
): Promise<Finding[]> => {
  const { name, url, isNeeded, client } = place
  try {
    const { headers } = await parts.outgoing.request({ url, method: 'HEAD', client })
    const clock = clockFindings(headers['date'], parts.clock.now(), tolerance)
    return [...clock, ...(await tlsFindings(parts, place))]
  } catch (failure) {
    if (!(failure instanceof OutgoingError)) throw failure
    const words = `${name} cannot be reached: ${failure.message}`
    return isNeeded
      ? [
          error(
            'provider-connection',
            words,
            'correct the address, or list its network in IAMCTL_OUTGOING_ALLOW of the server',
          ),
        ]
      : [
          warning(
            'provider-connection',
            `${words}; the browsers of users have to reach it, this server does not`,
            'open the address in a browser; correct it where that fails',
          ),
        ]
  }
}
