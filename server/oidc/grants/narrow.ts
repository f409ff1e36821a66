/** A request may narrow what was granted, never widen it (RFC 8707 §2.2). */

import { invalidTarget } from '../errors.ts'

/** An authorization that named no resource is for any that the client may ask for. */
export const narrowedResources = (
  granted: readonly string[],
  wanted: readonly string[],
): readonly string[] => {
  if (wanted.length === 0) return granted
  if (granted.length > 0 && wanted.some((one) => !granted.includes(one)))
    throw invalidTarget('the resource was not part of the authorization')
  return wanted
}
