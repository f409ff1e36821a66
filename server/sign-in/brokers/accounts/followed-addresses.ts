/**
 * `syncMode: FORCE` and the address: a new one that the provider vouches for becomes the address of the account. Not where
 * another user has it, nor of an administrator: with the address a provider could reset the password.
 */

import type { UpstreamIdentity } from '#server/broker/protocol.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { mappedAddress } from '#server/users/links/mapped-profile.ts'
import { emailErrors, foldName } from '#server/users/names.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { Users } from '#server/users/users.ts'
import type { StepContext } from '../../flow/step.ts'
import type { Writes } from '../../flow/vouching.ts'
import type { SignInProvider } from '../providers.ts'
import { isVouched } from './vouched-addresses.ts'

interface Parts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly users: Pick<Users, 'findByLogin'>
  readonly ranks: Pick<Ranks, 'permissionsOf'>
}

const nothing: Writes = { statements: [], events: [] }

export const createFollowedAddresses =
  ({ storage, clock, users, ranks }: Parts) =>
  async (
    { realm, view, address }: Pick<StepContext, 'realm' | 'address'> & { readonly view: RealmView },
    provider: SignInProvider,
    identity: UpstreamIdentity,
    user: UserRow,
  ): Promise<Writes> => {
    const { email = '' } = identity
    const isFollowed = provider.doc.syncMode === 'FORCE' && user.managed === 0
    if (!isFollowed || emailErrors(email).length > 0 || foldName(email) === user.email_key)
      return nothing
    if (!(await isVouched(view, provider, identity))) return nothing
    const holder = await users.findByLogin(realm, email, { withEmail: true })
    if (holder && holder.user.id !== user.id) return nothing
    if ((await ranks.permissionsOf(view, user.id)).size > 0) return nothing
    return {
      statements: mappedAddress(storage, user, email, clock.now()),
      events: [
        {
          type: 'UPDATE_EMAIL',
          realm,
          actor: user.id,
          sourceIp: address,
          outcome: 'SUCCESS',
          detail: `identity provider ${provider.alias}`,
        },
      ],
    }
  }

export type FollowedAddresses = ReturnType<typeof createFollowedAddresses>
