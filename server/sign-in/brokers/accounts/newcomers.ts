/**
 * The first sign-in of a person through an identity provider: whether an account has the address of the person, and what
 * may be done about it. An address alone links nothing (CVE-2026-56666): an account that has verified it must be proved by
 * the person, here and now. An account that has not verified it is never offered for the address alone (keycloak#53041): it
 * was made by the person, or by an attacker who waits for the person to come (pre-hijacking, GHSA-g38m-r43w-p2q7).
 */

import type { UpstreamIdentity } from '#server/broker/protocol.ts'
import { linkIssuer } from '#server/directories/linked-user.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Links } from '#server/users/links/links.ts'
import type { AddressUndos } from '#server/users/messages/address-undos.ts'
import { emailErrors, foldName } from '#server/users/names.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { Users } from '#server/users/users.ts'
import type { Brokered } from '../../flow/state.ts'
import type { StepContext } from '../../flow/step.ts'
import type { SignInProvider, SignInProviders } from '../providers.ts'
import type { SealedIdentities } from '../sealed-identities.ts'
import { isVouched } from './vouched-addresses.ts'

/** The person, as far as the provider has said, and the person has reviewed it. */
export interface Newcomer {
  readonly broker: Brokered
  readonly provider: SignInProvider
  readonly identity: UpstreamIdentity
  readonly email: string | undefined
  /** The provider vouches for the address, and the realm believes this provider. */
  readonly emailVerified: boolean
  readonly firstName: string | undefined
  readonly lastName: string | undefined
  readonly account: Account
}

export type Account =
  /** None has the address. `withAddress` is false where one has, and the person has not shown that it is theirs. */
  | { readonly kind: 'none'; readonly withAddress: boolean }
  /** One has verified the address: it is linked once it is proved. */
  | { readonly kind: 'found'; readonly holder: UserRow }
  /** One has the address and has never verified it; the person has. `yields`: it may be taken over. */
  | { readonly kind: 'claimed'; readonly holder: UserRow; readonly yields: boolean }
  /** One has the address, and the provider or the account does not take a link. */
  | { readonly kind: 'refused' }
  /** The person has one: another tab or browser was faster. */
  | { readonly kind: 'linked'; readonly holder: UserRow }

export interface NewcomerParts {
  readonly users: Users
  readonly links: Pick<Links, 'find' | 'ofUser'>
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly providers: Pick<SignInProviders, 'byId'>
  readonly identities: SealedIdentities
  readonly addressUndos: Pick<AddressUndos, 'arePending'>
}

export const createNewcomers = ({
  users,
  links,
  ranks,
  providers,
  identities,
  addressUndos,
}: NewcomerParts) => {
  const accountOf = async (
    { realm, view }: StepContext,
    { id, doc }: SignInProvider,
    email: string | undefined,
    emailVerified: boolean,
  ): Promise<Account> => {
    const holder =
      email === undefined
        ? undefined
        : (await users.findByLogin(realm, email, { withEmail: true }))?.user
    if (!holder) return { kind: 'none', withAddress: email !== undefined }
    const isAddress = holder.email_key === foldName(email ?? '')
    if (isAddress && holder.email_verified === 1) {
      const isLinked = (await links.ofUser(holder.id)).some(({ provider }) => provider === id)
      return doc.accountLinking === 'never' || isLinked
        ? { kind: 'refused' }
        : { kind: 'found', holder }
    }
    if (!isAddress || !emailVerified) return { kind: 'none', withAddress: false }
    const isAdministrator = (await ranks.permissionsOf(view, holder.id)).size > 0
    // An account that would be cut off from its directory would outlive the entry there.
    const isOfDirectory = (await links.ofUser(holder.id)).some(
      ({ issuer }) => issuer === linkIssuer,
    )
    // Its old address could take the account back.
    const isUndoable = await addressUndos.arePending(holder.id)
    const yields = holder.managed === 0 && !isAdministrator && !isOfDirectory && !isUndoable
    return { kind: 'claimed', holder, yields }
  }

  const linkedAccount = async (
    { realm }: StepContext,
    { id }: SignInProvider,
    identity: UpstreamIdentity,
  ): Promise<Account | undefined> => {
    const link = await links.find({ realm, id }, identity)
    const holder = link && (await users.find(realm, link.user_id))
    if (!holder) return undefined
    const isClosed = holder.enabled !== 1 || holder.locked === 1
    return isClosed ? { kind: 'refused' } : { kind: 'linked', holder }
  }

  return {
    /** Undefined where no provider has named a person, or the provider is closed by now. */
    of: async (context: StepContext): Promise<Newcomer | undefined> => {
      const { broker } = context.state
      const provider = broker && (await providers.byId(context.view, broker.provider))
      if (!broker || !provider) return undefined
      const identity = identities.open(context.realm, broker)
      const said = identity.email !== undefined && emailErrors(identity.email).length === 0
      const given = said ? identity.email : undefined
      const email = (broker.profile ? broker.profile.email : given) || undefined
      const emailVerified =
        email !== undefined &&
        email === identity.email &&
        (await isVouched(context.view, provider, identity))
      // Before the link: where this sees an account that is made with its link meanwhile, the link is seen too.
      const account = await accountOf(context, provider, email, emailVerified)
      return {
        broker,
        provider,
        identity,
        email,
        emailVerified,
        firstName: broker.profile?.firstName ?? identity.firstName,
        lastName: broker.profile?.lastName ?? identity.lastName,
        account: (await linkedAccount(context, provider, identity)) ?? account,
      }
    },
  }
}

export type Newcomers = ReturnType<typeof createNewcomers>
