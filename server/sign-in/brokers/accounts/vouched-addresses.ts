/**
 * Whether an address from an identity provider is known to be the person's: the provider vouches for it in this answer, and the
 * realm believes this provider. An organization vouches for addresses of its own domains alone, whatever its provider says.
 */

import type { UpstreamIdentity } from '#server/broker/protocol.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { organizationsOfAddress } from '#server/users/organizations/organizations.ts'
import type { SignInProvider } from '../providers.ts'

export const isVouched = async (
  view: RealmView,
  { doc, organization }: Pick<SignInProvider, 'doc' | 'organization'>,
  { email, emailVerified }: Pick<UpstreamIdentity, 'email' | 'emailVerified'>,
): Promise<boolean> => {
  if (!emailVerified || !doc.trustEmail || email === undefined) return false
  if (!organization) return true
  const owners = await organizationsOfAddress(view, email)
  return owners.some(({ id }) => id === organization.id)
}
