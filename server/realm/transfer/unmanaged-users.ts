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
import type { Tables, UserRow } from '#server/storage/tables/tables.ts'
import { fieldsOf } from '#server/users/user-record.ts'

const pageSize = 250

/** Names of what users can be in or hold, by id; what only lives at run time cannot be named in a file. */
const namesById = async (db: Kysely<Tables>, realm: string): Promise<Map<string, string>> => {
  const names = new Map<string, string>()
  for (const { kind } of [Role, ClientRole, Group, Organization]) {
    const rows = await db
      .selectFrom('documents')
      .select(['id', 'key'])
      .where('realm', '=', realm)
      .where('kind', '=', kind)
      .where('origin', '!=', 'runtime')
      .execute()
    for (const { id, key } of rows) names.set(id, key)
    await breathe()
  }
  return names
}

type Field = 'roles' | 'clientRoles' | 'groups' | 'organizations'

/** Memberships by user and field. */
const membershipsOf = async (
  db: Kysely<Tables>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly { field: Field; to: string }[]>> => {
  if (ids.length === 0) return new Map()
  const roles = await db
    .selectFrom('user_roles')
    .innerJoin('documents', 'documents.id', 'user_roles.role_id')
    .select(['user_id', 'role_id', 'kind'])
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
    ...roles.map(({ user_id, role_id, kind }) => ({
      user: user_id,
      field: (kind === Role.kind ? 'roles' : 'clientRoles') as Field,
      to: role_id,
    })),
    ...groups.map((row) => ({ user: row.user_id, field: 'groups' as Field, to: row.group_id })),
    ...organizations.map((row) => ({
      user: row.user_id,
      field: 'organizations' as Field,
      to: row.organization_id,
    })),
  ]
  return Map.groupBy(all, ({ user }) => user)
}

export interface UnmanagedUser {
  readonly id: string
  readonly doc: Doc
}

/** By username, page by page. */
export const unmanagedUsers = async function* (
  db: Kysely<Tables>,
  realm: string,
): AsyncGenerator<readonly UnmanagedUser[]> {
  const names = await namesById(db, realm)
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
    const memberships = await membershipsOf(
      db,
      own.map(({ id }) => id),
    )
    yield own.map((row) => {
      const { locked: _, ...fields } = fieldsOf(row)
      const held: Record<Field, string[]> = {
        roles: [],
        clientRoles: [],
        groups: [],
        organizations: [],
      }
      for (const { field, to } of memberships.get(row.id) ?? []) {
        const name = names.get(to)
        if (name !== undefined) held[field].push(name)
      }
      return { id: row.id, doc: compact(User, { ...fields, ...held }) }
    })
    if (rows.length < pageSize) return
    last = rows.at(-1)?.username_key ?? ''
    await breathe()
  }
}
