/**
 * The requesting party as policies see it. A user costs one query for roles and groups; where resources have owners, what
 * owners opened costs two more. Policies cost none.
 */

import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
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
import type { Resource } from './evaluation/evaluate.ts'
import { type Facts, isNamed } from './evaluation/facts.ts'
import type { OwnerPolicies } from './owner-policies.ts'
import type { ResourceServer } from './resource-servers.ts'
import type { Shares } from './shares.ts'

export interface RequestingParty {
  readonly user?: UserRow | undefined
  /** The client that asks; it sees the roles that its tokens would carry. */
  readonly client?: TokenClient | undefined
  /** Without a user: the service account that its token is about, where that is not its own. */
  readonly account?: TokenClient | undefined
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

/** The client that policies about clients judge: through which a user asks, or whose service account the party is. */
const judgedClient = ({ user, client, account }: RequestingParty): TokenClient | undefined =>
  user ? client : (account ?? client)

/** Client roles as documents and policies name them. */
const keysOf = ({ clients }: Pick<HeldRoles, 'clients'>): string[] =>
  [...clients].flatMap(([clientId, names]) => names.map((name) => `${clientId}/${name}`))

/** The ids of the documents that the names mean now. */
const idsOf = async (
  view: RealmView,
  { roles, clientRoles, groups }: Pick<Facts, 'roles' | 'clientRoles' | 'groups'>,
): Promise<readonly string[]> => {
  const named = [
    ...[...roles].map((key) => [Role.kind, key] as const),
    ...[...clientRoles].map((key) => [ClientRole.kind, key] as const),
    ...[...groups].map((key) => [Group.kind, key] as const),
  ]
  const ids: string[] = []
  for (const [kind, key] of named) {
    const document = await view.get(kind, key)
    if (document) ids.push(document.id)
  }
  return ids
}

export const createFactsOf = ({
  storage,
  clock,
  shares,
  ownerPolicies,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly shares: Pick<Shares, 'grantedTo'>
  readonly ownerPolicies: Pick<OwnerPolicies, 'metBy'>
}): FactsOf => {
  const heldBy = async (view: RealmView, party: RequestingParty): Promise<HeldRoles> => {
    const { user, client, memberships } = party
    if (user) {
      const held = memberships
        ? await rolesOfNames(view, memberships)
        : await rolesOfUser(storage, view, user.id)
      return client ? visibleTo(client, held) : held
    }
    const account = judgedClient(party)
    if (!account) return noRoles
    const held = await rolesOfServiceAccount(view, account)
    return client && client.id !== account.id ? visibleTo(client, held) : held
  }

  /** What the present owners of resources opened: a share or a policy ends with the ownership. */
  const openedTo = async (
    { view, server }: FactsPlace,
    party: RequestingParty,
    held: Pick<Facts, 'roles' | 'clientRoles' | 'groups'>,
  ): Promise<Facts['shared']> => {
    const { user } = party
    const client = judgedClient(party)
    const opened = new Map<string, Map<string, string>>()
    if (!server.hasOwners) return opened
    const rows = user ? await shares.grantedTo(user.id, server.client.id) : []
    const met = await ownerPolicies.metBy({
      clientId: server.client.id,
      documents: [...(await idsOf(view, held)), ...(client ? [client.id] : [])],
      userId: user?.id,
    })
    const ownerIds = [...new Set([...rows, ...met].map(({ owner_id }) => owner_id))]
    if (ownerIds.length === 0) return opened
    const owners = new Map((await usersByIds(storage, ownerIds)).map((one) => [one.id, one]))
    const open = (
      { resource_id, owner_id }: { resource_id: string; owner_id: string },
      scopesOf: (resource: Resource) => readonly string[],
      why: string,
    ): void => {
      const owner = owners.get(owner_id)
      const resource = server.find(resource_id)
      if (!owner || !resource?.doc.owner || !isNamed(resource.doc.owner, owner)) return
      const scopes = opened.get(resource_id) ?? new Map<string, string>()
      for (const scope of scopesOf(resource)) if (!scopes.has(scope)) scopes.set(scope, why)
      opened.set(resource_id, scopes)
    }
    for (const row of rows) open(row, () => [row.scope], 'the owner shared it with the user')
    for (const row of met) {
      const named = JSON.parse(row.scopes) as readonly string[]
      const why = `the policy ${row.name} of the owner permits it`
      open(row, ({ doc }) => (named.length > 0 ? named : ['', ...doc.scopes]), why)
    }
    return opened
  }

  return async ({ view, server }, party) => {
    const { user, at = clock.now() } = party
    const held = await heldBy(view, party)
    const tried = party.roles
      ? await withComposites(view, party.roles)
      : { realm: [], clients: new Map() }
    const has = {
      roles: new Set([...held.realm, ...tried.realm]),
      clientRoles: new Set([...keysOf(held), ...keysOf(tried)]),
      groups: new Set(held.groups),
    }
    return {
      ...(user ? { user: { id: user.id, username: user.username } } : {}),
      ...has,
      clientId: judgedClient(party)?.clientId,
      now: at,
      shared: await openedTo({ view, server }, party, has),
    }
  }
}
