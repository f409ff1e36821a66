/** Users that no file declares, as a file would declare them: fields and memberships, never credentials. */

import { setImmediate as breathe } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Doc } from '#schemas/json-schema.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Organization } from '#schemas/kinds/users/organization.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { compact } from '#schemas/normalize.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { Origin, Tables, UserRow } from '#server/storage/tables/tables.ts'
import { fieldsOf } from '#server/users/user-record.ts'
import { usersIn } from '#server/users/user-rows.ts'
import { ownersOfUsers } from '../read/senders.ts'

const pageSize = 250

/** What only lives at run time cannot be named in a file. */
const ofConfiguration: readonly Origin[] = ['built-in', 'declared', 'manual']

/** Names of what users can be in or hold, by id. */
const namesById = async (
  db: Kysely<Tables>,
  realm: string,
  origins: readonly Origin[],
): Promise<Map<string, string>> => {
  const names = new Map<string, string>()
  for (const { kind } of [Role, ClientRole, Group, Organization]) {
    const rows = await db
      .selectFrom('documents')
      .select(['id', 'key'])
      .where('realm', '=', realm)
      .where('kind', '=', kind)
      .where('origin', 'in', origins)
      .execute()
    for (const { id, key } of rows) names.set(id, key)
    await breathe()
  }
  return names
}

type Field = 'roles' | 'clientRoles' | 'groups' | 'organizations'

interface Membership {
  readonly field: Field
  readonly to: string
  /** The default role of the realm, which no document takes away. */
  readonly isDefault: boolean
}

/** Memberships by user. */
const membershipsOf = async (
  db: Kysely<Tables>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Membership[]>> => {
  if (ids.length === 0) return new Map()
  const roles = await db
    .selectFrom('user_roles')
    .innerJoin('documents', 'documents.id', 'user_roles.role_id')
    .select(['user_id', 'role_id', 'kind', 'by_default'])
    .where('user_id', 'in', ids)
    .execute()
  const groups = await db
    .selectFrom('user_groups')
    .selectAll()
    .where('user_id', 'in', ids)
    .execute()
  const organizations = await db
    .selectFrom('organization_members')
    .selectAll()
    .where('user_id', 'in', ids)
    .execute()
  const all = [
    ...roles.map(({ user_id, role_id, kind, by_default }) => ({
      user: user_id,
      field: (kind === Role.kind ? 'roles' : 'clientRoles') as Field,
      to: role_id,
      isDefault: by_default === 1,
    })),
    ...groups.map((row) => ({
      user: row.user_id,
      field: 'groups' as Field,
      to: row.group_id,
      isDefault: false,
    })),
    ...organizations.map((row) => ({
      user: row.user_id,
      field: 'organizations' as Field,
      to: row.organization_id,
      isDefault: false,
    })),
  ]
  return Map.groupBy(all, ({ user }) => user)
}

export interface UnmanagedUser {
  readonly id: string
  readonly doc: Doc
  /** The senders that provision the user. */
  readonly owner: string | undefined
}

const docOf = (
  row: UserRow,
  memberships: readonly Membership[],
  names: ReadonlyMap<string, string>,
): Doc => {
  const { locked: _, ...fields } = fieldsOf(row)
  const held: Record<Field, string[]> = {
    roles: [],
    clientRoles: [],
    groups: [],
    organizations: [],
  }
  for (const { field, to } of memberships) {
    const name = names.get(to)
    if (name !== undefined) held[field].push(name)
  }
  return compact(User, { ...fields, ...held })
}

/** Some of them by id, with all that their documents would take away. */
export const unmanagedUsersIn = async (
  db: Kysely<Tables>,
  realm: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Doc>> => {
  if (ids.length === 0) return new Map()
  const names = await namesById(db, realm, [...ofConfiguration, 'runtime'])
  const rows = await usersIn({ db }, realm, 'id', ids)
  const found = new Map<string, Doc>()
  for (const part of inSlices(rows)) {
    const memberships = await membershipsOf(
      db,
      part.map(({ id }) => id),
    )
    for (const row of part) {
      const own = (memberships.get(row.id) ?? []).filter(({ isDefault }) => !isDefault)
      found.set(row.id, docOf(row, own, names))
    }
  }
  return found
}

/** By username, page by page. */
export const unmanagedUsers = async function* (
  db: Kysely<Tables>,
  realm: string,
): AsyncGenerator<readonly UnmanagedUser[]> {
  const names = await namesById(db, realm, ofConfiguration)
  let last = ''
  for (;;) {
    const rows: UserRow[] = await db
      .selectFrom('users')
      .selectAll()
      .where('realm', '=', realm)
      .where('username_key', '>', last)
      .orderBy('username_key')
      .limit(pageSize)
      .execute()
    const own = rows.filter(({ managed }) => managed === 0)
    const ids = own.map(({ id }) => id)
    const memberships = await membershipsOf(db, ids)
    const owners = await ownersOfUsers(db, ids)
    yield own.map((row) => ({
      id: row.id,
      doc: docOf(row, memberships.get(row.id) ?? [], names),
      owner: owners.get(row.id),
    }))
    if (rows.length < pageSize) return
    last = rows.at(-1)?.username_key ?? ''
    await breathe()
  }
}
