/**
 * The JWT of a workload as it claims to be, before its signature is verified: which credential it asks for, and whether its
 * form alone refuses it.
 */

import { isCompactJws } from '#server/platform/base64url.ts'
import { hasUniqueMembers } from './unique-members.ts'

/** Asymmetric, and of these names only: no `none`, no HMAC that a public key could be the secret of. */
export const workloadAlgorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'] as const

export type WorkloadClaims = Readonly<Record<string, unknown>>

export interface WorkloadToken {
  readonly text: string
  readonly claims: WorkloadClaims
  /** For the audit event; undefined where the form is in order. */
  readonly fault: string | undefined
}

/** Longer than the tokens of known platforms, which have a few kilobytes. */
export const longestToken = 16 * 1024

/** Where a header says that its key is: keys come from the credential alone (RFC 8725 §3.10). */
const keyMembers = ['jku', 'jwk', 'x5u'] as const

type Part = Readonly<Record<string, unknown>>

const decode = (part: string): Part | undefined => {
  const json = Buffer.from(part, 'base64url').toString()
  try {
    const value: unknown = JSON.parse(json)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && hasUniqueMembers(json) ? (value as Part) : undefined
  } catch {
    return undefined
  }
}

const unreadable = (text: string, fault: string): WorkloadToken => ({
  text,
  claims: {},
  fault,
})

const headerFault = (header: Part): string | undefined => {
  if (!workloadAlgorithms.some((one) => one === header['alg']))
    return 'the algorithm is not accepted'
  if ('crit' in header) return 'the header has crit'
  const named = keyMembers.find((name) => name in header)
  return named && `the header has ${named}`
}

export const readWorkloadToken = (text: string): WorkloadToken => {
  if (text.length > longestToken) return unreadable('', 'the JWT is too long')
  if (!isCompactJws(text)) return unreadable(text, 'the subject_token is not a signed JWT')
  const [head = '', body = ''] = text.split('.')
  const [header, claims] = [decode(head), decode(body)]
  if (!header || !claims)
    return unreadable(text, 'a part of the JWT is not an object of members with one value each')
  return { text, claims, fault: headerFault(header) }
}

/** The audience, where it is exactly one: a token for others too could be one that they received (RFC 8725 §3.9). */
export const audienceOf = ({ aud }: WorkloadClaims): string | undefined => {
  const [only, ...others] = [aud].flat()
  return typeof only === 'string' && others.length === 0 ? only : undefined
}
