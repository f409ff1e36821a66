/** The senders that provision users and groups over SCIM: the owners of those that no estate declares. */

import type { Kysely } from 'kysely'
import { scimOwner } from '#schemas/wire/scim.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables/tables.ts'

/** By id; more than one sender may know a user or a group. */
export type Owners = ReadonlyMap<string, string>

const ownersIn = (rows: readonly { readonly id: string; readonly sender: string }[]): Owners =>
  new Map(
    [...Map.groupBy(rows, ({ id }) => id)].map(([id, own]) => [
      id,
      own.map(({ sender }) => scimOwner(sender)).join(', '),
    ]),
  )

export const ownersOfUsers = async (db: Kysely<Tables>, ids: readonly string[]): Promise<Owners> =>
  ownersIn(
    await readInSlices(ids, (part) =>
      db
        .selectFrom('scim_users')
        .select(['user_id as id', 'sender'])
        .where('user_id', 'in', part)
        .orderBy('sender')
        .execute(),
    ),
  )

export const ownersOfGroups = async (db: Kysely<Tables>, ids: readonly string[]): Promise<Owners> =>
  ownersIn(
    await readInSlices(ids, (part) =>
      db
        .selectFrom('scim_groups')
        .select(['group_id as id', 'sender'])
        .where('group_id', 'in', part)
        .orderBy('sender')
        .execute(),
    ),
  )
