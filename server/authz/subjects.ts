/**
 * The requesting party as policies see it. A user costs one query for roles and groups and one for what others shared, a
 * client none; policies cost none.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import {
  type HeldRoles,
  type NamedRoles,
  noRoles,
  rolesOfNames,
  rolesOfServiceAccount,
  rolesOfUser,
  visibleTo,
  withComposites,
} from '#server/tokens/access/roles.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { usersByIds } from '#server/users/user-rows.ts'
import { type Facts, isNamed } from './evaluation/facts.ts'
import type { ResourceServer } from './resource-servers.ts'
import type { Shares } from './shares.ts'

export interface RequestingParty {
  readonly user?: UserRow | undefined
  /** The client that asks; it sees the roles that its tokens would carry. */
  readonly client?: TokenClient | undefined
  /** Roles and groups of the user, where they are not those that are stored. */
  readonly memberships?: (NamedRoles & { readonly groups: readonly string[] }) | undefined
  /** Roles on trial, beside those that are held. */
  readonly roles?: NamedRoles | undefined
  /** Epoch milliseconds, where it is not now. */
  readonly at?: number | undefined
}

/** The resource server and the realm's state that a request is about. */
export interface FactsPlace {
  readonly view: RealmView
  readonly server: ResourceServer
}

export type FactsOf = (place: FactsPlace, party: RequestingParty) => Promise<Facts>

/** Client roles as documents and policies name them. */
const keysOf = ({ clients }: Pick<HeldRoles, 'clients'>): string[] =>
  [...clients].flatMap(([clientId, names]) => names.map((name) => `${clientId}/${name}`))

export const createFactsOf = ({
  storage,
  clock,
  shares,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly shares: Pick<Shares, 'grantedTo'>
}): FactsOf => {
  const heldBy = async (
    view: RealmView,
    { user, client, memberships }: RequestingParty,
  ): Promise<HeldRoles> => {
    if (user) {
      const held = memberships
        ? await rolesOfNames(view, memberships)
        : await rolesOfUser(storage, view, user.id)
      return client ? visibleTo(client, held) : held
    }
    return client ? rolesOfServiceAccount(view, client) : noRoles
  }

  /** What the present owners of resources shared: a share ends with the ownership. */
  const sharedWith = async (
    user: UserRow | undefined,
    server: ResourceServer,
  ): Promise<Facts['shared']> => {
    const shared = new Map<string, Set<string>>()
    if (!user || !server.resources.some(({ doc }) => doc.ownerManagedAccess)) return shared
    const rows = await shares.grantedTo(user.id, server.client.id)
    if (rows.length === 0) return shared
    const ownerIds = [...new Set(rows.map(({ owner_id }) => owner_id))]
    const owners = new Map((await usersByIds(storage, ownerIds)).map((one) => [one.id, one]))
    for (const { resource_id, owner_id, scope } of rows) {
      const owner = owners.get(owner_id)
      const named = server.find(resource_id)?.doc.owner
      if (!owner || !named || !isNamed(named, owner)) continue
      const scopes = shared.get(resource_id) ?? new Set<string>()
      shared.set(resource_id, scope === '' ? scopes : scopes.add(scope))
    }
    return shared
  }

  return async ({ view, server }, party) => {
    const { user, client, at = clock.now() } = party
    const held = await heldBy(view, party)
    const tried = party.roles
      ? await withComposites(view, party.roles)
      : { realm: [], clients: new Map() }
    return {
      ...(user ? { user: { id: user.id, username: user.username } } : {}),
      roles: new Set([...held.realm, ...tried.realm]),
      clientRoles: new Set([...keysOf(held), ...keysOf(tried)]),
      groups: new Set(held.groups),
      clientId: client?.clientId,
      now: at,
      shared: await sharedWith(user, server),
    }
  }
}
