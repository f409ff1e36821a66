/**
 * Links that a claimant may have made: of an account whose address was not known to be the user's, or since it was changed. They
 * go where the owner of the address gets the account. A link to a directory is not made by the user.
 */

import { linkIssuer } from '#server/directories/linked-user.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Links } from '#server/users/links/links.ts'

export const endClaimedLinks = (
  links: Pick<Links, 'unlinkSince'>,
  userId: string,
  since = 0,
): Statement => links.unlinkSince(userId, since, linkIssuer)
