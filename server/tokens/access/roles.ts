/**
 * The roles that a user or a service account holds: directly, through groups and the groups above, and through
 * composites. Names are read from memory; a user costs one query for what it is a member of.
 */

import { parentKeyOf } from '#schemas/kind.ts'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { Group, type GroupDoc } from '#schemas/kinds/users/group.ts'
import { Role, type RoleDoc } from '#schemas/kinds/users/role.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { rolesAndGroupsOf } from '#server/users/memberships.ts'
import { rememberPerClient, type TokenClient } from '../client.ts'

export interface HeldRoles {
  /** Names of realm roles, sorted. */
  readonly realm: readonly string[]
  /** Names of client roles by the client's clientId, sorted. */
  readonly clients: ReadonlyMap<string, readonly string[]>
  /** Paths of the groups that the user is directly in, sorted. */
  readonly groups: readonly string[]
}

export const noRoles: HeldRoles = { realm: [], clients: new Map(), groups: [] }

/** Names of realm roles, and keys of client roles. */
export interface NamedRoles {
  readonly realm: Iterable<string>
  readonly clients: Iterable<string>
}

/** With all that come with them. */
export const withComposites = async (
  view: RealmView,
  start: NamedRoles,
): Promise<Pick<HeldRoles, 'realm' | 'clients'>> => {
  const held = new Set<string>()
  const clients = new Set(start.clients)
  const queue = [...start.realm]
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (held.has(name)) continue
    const role = await view.get(Role.kind, name)
    if (!role) continue
    held.add(name)
    const { composites, clientRoles } = contentOf<RoleDoc>(role)
    queue.push(...composites)
    for (const key of clientRoles) clients.add(key)
  }
  return { realm: [...held].sort(), clients: byClient(clients) }
}

/** `web/reader` is the role `reader` of the client `web`; a clientId may hold slashes, a role's name none. */
const byClient = (keys: Iterable<string>): Map<string, readonly string[]> => {
  const roles = new Map<string, string[]>()
  for (const key of [...keys].sort()) {
    const clientId = parentKeyOf(ClientRole, key)
    if (clientId === null) continue
    const names = roles.get(clientId) ?? []
    names.push(key.slice(clientId.length + 1))
    roles.set(clientId, names)
  }
  return roles
}

const rolesOfGroups = async (
  view: RealmView,
  groups: readonly StoredDocument[],
): Promise<NamedRoles> => {
  const realm: string[] = []
  const clients: string[] = []
  const seen = new Set<string>()
  const queue = [...groups]
  for (let group = queue.pop(); group; group = queue.pop()) {
    if (seen.has(group.id)) continue
    seen.add(group.id)
    const { roles, clientRoles } = contentOf<GroupDoc>(group)
    realm.push(...roles)
    clients.push(...clientRoles)
    const above = group.parentId === null ? undefined : await view.byId(Group.kind, group.parentId)
    if (above) queue.push(above)
  }
  return { realm, clients }
}

const found = async (
  ids: readonly string[],
  find: (id: string) => Promise<StoredDocument | undefined>,
): Promise<StoredDocument[]> => {
  const documents: StoredDocument[] = []
  for (const id of ids) {
    const document = await find(id)
    if (document) documents.push(document)
  }
  return documents
}

/** Roles that are held directly, with those of the groups and of composites. */
const heldThrough = async (
  view: RealmView,
  groups: readonly StoredDocument[],
  { realm, clients }: NamedRoles,
): Promise<HeldRoles> => {
  const ofGroups = await rolesOfGroups(view, groups)
  return {
    ...(await withComposites(view, {
      realm: [...realm, ...ofGroups.realm],
      clients: [...clients, ...ofGroups.clients],
    })),
    groups: groups.map(({ key }) => key).sort(),
  }
}

export const rolesOfUser = async (
  { db }: Pick<Storage, 'db'>,
  view: RealmView,
  userId: string,
): Promise<HeldRoles> => {
  const held = await rolesAndGroupsOf(db, { userId })
  const idsOf = (kind: string): string[] =>
    held.filter((one) => one.kind === kind).map(({ id }) => id)
  const roleIds = idsOf(Role.kind)
  const realmRoles = await found(roleIds, (id) => view.byId(Role.kind, id))
  const known = new Set(realmRoles.map(({ id }) => id))
  const clientRoles = await found(
    roleIds.filter((id) => !known.has(id)),
    (id) => view.byId(ClientRole.kind, id),
  )
  const groups = await found(idsOf(Group.kind), (id) => view.byId(Group.kind, id))
  return heldThrough(view, groups, {
    realm: realmRoles.map(({ key }) => key),
    clients: clientRoles.map(({ key }) => key),
  })
}

/** What a user would hold with these roles and groups. */
export const rolesOfNames = async (
  view: RealmView,
  { realm, clients, groups: paths }: NamedRoles & { readonly groups: readonly string[] },
): Promise<HeldRoles> => {
  const groups = await found(paths, (path) => view.get(Group.kind, path))
  return heldThrough(view, groups, { realm, clients })
}

const remembered = rememberPerClient<HeldRoles>()

/** What the client holds when it acts for itself. */
export const rolesOfServiceAccount = (view: RealmView, client: TokenClient): Promise<HeldRoles> =>
  remembered(view, client, '', async () => {
    const { serviceAccountsEnabled, serviceAccountRoles, serviceAccountClientRoles } = client.doc
    if (!serviceAccountsEnabled) return noRoles
    const start = { realm: serviceAccountRoles, clients: serviceAccountClientRoles }
    return { ...(await withComposites(view, start)), groups: [] }
  })

/** The roles in tokens for the client: realm roles and its own, unless it may have all. */
export const visibleTo = (
  { clientId, doc }: { readonly clientId: string; readonly doc: ClientDoc },
  held: HeldRoles,
): HeldRoles => {
  if (doc.fullScopeAllowed) return held
  const own = held.clients.get(clientId)
  return { ...held, clients: own ? new Map([[clientId, own]]) : new Map() }
}
