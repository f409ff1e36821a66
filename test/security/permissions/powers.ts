/** Permissions and credentials of all principals of a realm: the state that no attack may change. */

import { type Permission, permissionKeys } from '#schemas/access/permissions.ts'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { RoleDoc } from '#schemas/kinds/users/role.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { TestServer } from '../../support/server.ts'

export interface Principal {
  readonly name: string
  readonly permissions: readonly Permission[]
  /** Values whose change would let another user act as this principal. */
  readonly wayIn: string
}

const sorted = (permissions: ReadonlySet<Permission>): Permission[] =>
  permissionKeys.filter((key) => permissions.has(key))

const viewOf = async ({ areas }: TestServer, realm: string): Promise<RealmView> => {
  const view = await areas.copy.fresh(realm)
  if (!view) throw new Error(`no realm ${realm}`)
  return view
}

const usersOf = async (server: TestServer, view: RealmView): Promise<Principal[]> => {
  const { db } = server.areas.storage
  const rows = await db
    .selectFrom('users')
    .select(['id', 'username', 'email', 'enabled', 'locked'])
    .where('realm', '=', view.realm)
    .orderBy('id')
    .execute()
  const credentials = await db
    .selectFrom('credentials')
    .select(['user_id', 'type', 'secret'])
    .where('realm', '=', view.realm)
    .orderBy('id')
    .execute()
  return Promise.all(
    rows.map(async ({ id, ...row }) => ({
      name: `user ${id}`,
      permissions: sorted(await server.areas.users.ranks.permissionsOf(view, id)),
      wayIn: JSON.stringify([row, credentials.filter(({ user_id }) => user_id === id)]),
    })),
  )
}

const ofRoles = async (
  {
    areas: {
      users: { ranks },
    },
  }: TestServer,
  view: RealmView,
  names: readonly string[],
): Promise<Permission[]> => {
  const roles = await Promise.all(names.map((name) => view.get('role', name)))
  const found = roles.filter((role) => role !== undefined)
  return sorted(await ranks.permissionsOfRoles(view, found))
}

const clientsOf = async (server: TestServer, view: RealmView): Promise<Principal[]> =>
  Promise.all(
    (await view.list('client')).map(async (document) => ({
      name: `client ${document.id}`,
      permissions: await ofRoles(server, view, contentOf<ClientDoc>(document).serviceAccountRoles),
      wayIn: JSON.stringify([{ ...document.body, serviceAccountRoles: null }, document.secrets]),
    })),
  )

/** Future users will hold the default role. */
const newcomers = async (server: TestServer, view: RealmView): Promise<Principal> => {
  const settings = await view.get('settings', 'settings')
  const name = settings && contentOf<SettingsDoc>(settings).defaultRole
  return {
    name: 'newcomers',
    permissions: await ofRoles(server, view, name === undefined ? [] : [name]),
    wayIn: '',
  }
}

export const principalsOf = async (
  server: TestServer,
  realm: string,
): Promise<readonly Principal[]> => {
  const view = await viewOf(server, realm)
  return [
    ...(await usersOf(server, view)),
    ...(await clientsOf(server, view)),
    await newcomers(server, view),
  ]
}

/** The permissions that roles hold themselves: only a realm-admin changes those. */
export const grantsOf = async (server: TestServer, realm: string): Promise<string[]> =>
  (await (await viewOf(server, realm)).list('role'))
    .map((role: StoredDocument) => `${role.id} ${contentOf<RoleDoc>(role).permissions.join()}`)
    .sort()

/** Changes by a user with these permissions that should have been refused. */
export const gains = (
  before: readonly Principal[],
  after: readonly Principal[],
  held: ReadonlySet<Permission>,
): string[] => {
  const known = new Map(before.map((principal) => [principal.name, principal]))
  return after.flatMap(({ name, permissions, wayIn }) => {
    const earlier = known.get(name)
    const gained = permissions.filter(
      (one) => !held.has(one) && !earlier?.permissions.includes(one),
    )
    const stronger = earlier?.permissions.some((one) => !held.has(one)) === true
    return [
      ...(gained.length > 0 ? [`${name} gained ${gained.join(', ')}`] : []),
      ...(stronger && wayIn !== earlier.wayIn ? [`a way in to ${name} was changed`] : []),
    ]
  })
}
