/**
 * Roles and groups that mappers of a provider gave to users. A membership that existed before, or that an administrator
 * gives, is not recorded, so that no provider takes it away.
 */

import { type Kysely, sql } from 'kysely'
import { Group } from '#schemas/kinds/users/group.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedQuery } from '#server/storage/prepared.ts'
import { statement } from '#server/storage/statements.ts'
import type { MappedMembershipRow } from '#server/storage/tables/broker-tables.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { assignRole, joinGroups, leaveGroups, unassignRole } from '../memberships.ts'

type Db = Pick<Storage, 'db'>

export type MappedTarget = Pick<MappedMembershipRow, 'kind' | 'target_id'>

const raw = (db: Kysely<Tables>, query: ReturnType<typeof sql>): Statement =>
  statement({ compile: () => query.compile(db) })

const recordedFor = preparedQuery(
  'mapped-memberships',
  (db, { userId, provider }: { userId: string; provider: string }) =>
    db
      .selectFrom('mapped_memberships')
      .selectAll()
      .where('user_id', '=', userId)
      .where('provider', '=', provider),
)

export const mappedTo = (
  { db }: Db,
  userId: string,
  provider: string,
): Promise<MappedMembershipRow[]> => recordedFor(db, { userId, provider })

/** Recorded first, and only where the user has no such membership yet. */
export const giveMapped = (
  storage: Db,
  userId: string,
  provider: string,
  { kind, target_id: target }: MappedTarget,
  now: number,
): Statement[] => {
  const { db } = storage
  const isGroup = kind === Group.kind
  const held = isGroup
    ? sql`select 1 from user_groups where user_id = ${userId} and group_id = ${target}`
    : sql`select 1 from user_roles where user_id = ${userId} and role_id = ${target}`
  return [
    raw(
      db,
      sql`insert into mapped_memberships (user_id, provider, kind, target_id)
        select ${userId}, ${provider}, ${kind}, ${target} where not exists (${held})
        on conflict (user_id, provider, kind, target_id) do nothing`,
    ),
    ...(isGroup
      ? joinGroups(storage, [{ user_id: userId, group_id: target }], now)
      : [assignRole(storage, userId, target)]),
  ]
}

export const withdrawMapped = (
  storage: Db,
  userId: string,
  provider: string,
  { kind, target_id: target }: MappedTarget,
  now: number,
): Statement[] => {
  const { db } = storage
  const isGroup = kind === Group.kind
  return [
    statement(
      db
        .deleteFrom('mapped_memberships')
        .where('user_id', '=', userId)
        .where('provider', '=', provider)
        .where('kind', '=', kind)
        .where('target_id', '=', target),
    ),
    ...(isGroup
      ? leaveGroups(storage, [{ user_id: userId, group_id: target }], now)
      : [unassignRole(storage, userId, target)]),
  ]
}

/** For a membership that an administrator gives: from now on no provider takes it away. */
export const givenByHand = ({ db }: Db, userId: string, targetId: string): Statement =>
  statement(
    db
      .deleteFrom('mapped_memberships')
      .where('user_id', '=', userId)
      .where('target_id', '=', targetId),
  )
