/**
 * The end of a sign-in through an identity provider: the link that the user has proved, and the session there that the
 * session here came from. What was taken away meanwhile (the provider, the link) ends the sign-in without a session.
 */

import type { Mapping } from '#server/broker/mapping/mapping.ts'
import type { UpstreamIdentity } from '#server/broker/protocol.ts'
import { originOf, type UpstreamSessions } from '#server/broker/sessions/upstream-sessions.ts'
import type { Clock } from '#server/platform/clock.ts'
import { ConstraintError, type Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Links } from '#server/users/links/links.ts'
import { joinOrganization } from '#server/users/memberships.ts'
import { federated } from '../flow/levels.ts'
import type { Brokered, SignInState } from '../flow/state.ts'
import type { Vouching, Writes } from '../flow/vouching.ts'
import { joined } from '../sign-in-organizations.ts'
import type { FollowedAddresses } from './accounts/followed-addresses.ts'
import { brokerEvent, type LinkWrites } from './link-writes.ts'
import type { SignInProvider, SignInProviders } from './providers.ts'
import type { SealedIdentities } from './sealed-identities.ts'

interface Parts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly providers: Pick<SignInProviders, 'byId' | 'isUsable'>
  readonly identities: SealedIdentities
  readonly links: Pick<Links, 'find'>
  readonly linkWrites: LinkWrites
  readonly sessions: Pick<UpstreamSessions, 'ofSession' | 'opened'>
  readonly mapping: Mapping
  readonly followedAddress: FollowedAddresses
}

const nothing: Writes = { statements: [], events: [] }

export const createBrokeredSignIns = (parts: Parts): Vouching => {
  const { storage, clock, providers, identities, links, linkWrites, sessions, mapping } = parts
  const { followedAddress } = parts

  const providerOf = async (
    view: RealmView,
    { provider: id }: Brokered,
    state: Pick<SignInState, 'organizationHint'>,
  ): Promise<SignInProvider | undefined> => {
    const provider = await providers.byId(view, id)
    return provider && providers.isUsable(provider, state) ? provider : undefined
  }

  /** Whether the link is still there, and of this user. */
  const isLinked = async (
    realm: string,
    broker: Brokered,
    identity: UpstreamIdentity,
    user: Pick<UserRow, 'id'>,
  ): Promise<boolean> => {
    // A guard of the arrival has seen to it.
    if (identities.isOfRequest(broker)) return true
    const link = await links.find({ realm, id: broker.provider }, identity)
    // The commit that makes the account would be refused: another one was made for the person since it was looked for.
    if (link && broker.isNew && link.user_id !== user.id)
      throw new ConstraintError('unique', 'federated_links', undefined)
    // One that this very commit makes is not there yet.
    return link === undefined ? broker.isNew === true : link.user_id === user.id
  }

  return {
    isOpen: async (view, state) =>
      state.broker === undefined || (await providerOf(view, state.broker, state)) !== undefined,

    endOf: async (realm, { broker, strengthens, amr, userId }) => {
      if (broker && userId !== undefined && [broker.linked, broker.linksTo].includes(userId))
        return identities.open(realm, broker).session?.until
      // A step-up of a session that came from a provider; a sign-in without one since then has left the provider behind.
      if (strengthens === undefined || !amr.includes(federated)) return undefined
      const origins = await sessions.ofSession(strengthens)
      return origins.toSorted((one, other) => other.created_at - one.created_at)[0]?.session.until
    },

    signedIn: async ({ realm, view, address }, state, user, session) => {
      const { broker } = state
      if (!broker) return nothing
      const place = { realm, address }
      const provider = await providerOf(view, broker, state)
      if (!provider) return undefined
      const identity = identities.open(realm, broker)
      const origin = sessions.opened(session, originOf(provider.id, identity))
      const login = brokerEvent(place, provider, 'IDENTITY_PROVIDER_LOGIN', user.id)
      if (broker.linked === user.id) {
        if (!(await isLinked(realm, broker, identity, user))) return undefined
        const isFirst = broker.isNew === true
        const mapped = await mapping.signedIn(view, provider, identity, user, { isFirst })
        const followed = isFirst
          ? nothing
          : await followedAddress({ ...place, view }, provider, identity, user)
        return {
          statements: [origin, ...mapped, ...followed.statements],
          events: [...followed.events, login],
        }
      }
      if (broker.linksTo !== user.id) return nothing
      const link = await links.find({ realm, id: provider.id }, identity)
      if (link && link.user_id !== user.id) return undefined
      // Another tab may have linked the same two accounts meanwhile.
      const linked = link ? nothing : await linkWrites.first(place, { provider, identity }, user)
      const { organization } = provider
      const mapped = await mapping.signedIn(view, provider, identity, user, { isFirst: true })
      return {
        statements: [
          ...linked.statements,
          ...mapped,
          ...(organization
            ? [joinOrganization(storage, user.id, organization.id, clock.now())]
            : []),
          origin,
        ],
        events: [
          ...linked.events,
          ...(organization ? [joined(user, organization.id, address, 'identity-provider')] : []),
          login,
        ],
      }
    },
  }
}
