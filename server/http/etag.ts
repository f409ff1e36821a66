/** Conditional requests (RFC 9110 §13.1): validators of a request against the current one. */

import type { IncomingHttpHeaders } from 'node:http'

/** Whether the client has the current representation: a list of validators, compared weakly, or anything at all. */
export const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean => {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  const opaque = etag.replace(/^W\//, '')
  return ifNoneMatch.match(/"[^"]*"/g)?.includes(opaque) ?? false
}

/** The conditions of a write: `If-Match` and `If-None-Match` as they were sent. */
export interface Conditions {
  readonly ifMatch?: string
  readonly ifNoneMatch?: string
}

export const conditionsIn = (headers: IncomingHttpHeaders): Conditions => {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  return {
    ...(ifMatch === undefined ? {} : { ifMatch }),
    ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }),
  }
}

/** Why a write does not go on. */
export const unmet = ({ ifMatch }: Conditions): string =>
  ifMatch === undefined ? 'is there, which If-None-Match excludes' : 'has changed since it was read'

/** A validator with its mark of weakness: a weak one is never equal to a strong one. */
const validator = /(?:W\/)?"[^"]*"/g

/** Whether a write may go on, given the validator of what is there; null: nothing is. */
export const isMet = ({ ifMatch, ifNoneMatch }: Conditions, etag: string | null): boolean => {
  if (etag === null) return ifMatch === undefined
  if (isKnown(ifNoneMatch, etag)) return false
  if (ifMatch === undefined || ifMatch.trim() === '*') return true
  return ifMatch.match(validator)?.includes(etag) ?? false
}
