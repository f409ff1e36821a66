/**
 * A request may narrow what was granted, never widen it (RFC 8707 §2.2), and a grant does not outlive the permission for
 * it.
 */

import type { TokenClient } from '#server/tokens/client.ts'
import { invalidTarget } from '../../errors.ts'

/** An authorization that named no resource is for any that the client may ask for. */
export const narrowedResources = (
  { doc: { allowedResources } }: TokenClient,
  granted: readonly string[],
  wanted: readonly string[],
): readonly string[] => {
  const left = granted.filter((one) => allowedResources.includes(one))
  // Without any the token would be for the client's usual audience, which was not asked for.
  if (granted.length > 0 && left.length === 0)
    throw invalidTarget('the client may no longer ask for the granted resources')
  if (wanted.length === 0) return left
  if (granted.length > 0 && wanted.some((one) => !left.includes(one)))
    throw invalidTarget('the resource was not part of the authorization')
  return wanted
}
