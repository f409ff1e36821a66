/** Whether a verified access token is good at a place: whom it is for, and whose it is. */

import type { Claims } from '../claims/mapper.ts'
import type { VerifiedToken } from '../verify.ts'

/** Whether the audience names the resource (RFC 9068 §4). */
export const isFor = ({ aud }: Claims, audience: string): boolean =>
  Array.isArray(aud) ? aud.includes(audience) : aud === audience

/** The client's own: not of a user, and not exchanged for that of another. */
export const isOwnToken = ({
  client,
  account,
  claims,
}: Pick<VerifiedToken, 'client' | 'account' | 'claims'>): boolean =>
  account?.id === client.id && claims['act'] === undefined
