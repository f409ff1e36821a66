/** The `externalId` of users and groups. Each sender has its own, and sees no others. */

import { ConstraintError, type Statement, type Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { ScimUserRow } from '#server/storage/tables/scim-in-tables.ts'
import type { ScimCall } from './caller.ts'
import { invalidValue, ScimError } from './errors.ts'
import type { Resource } from './schema/attribute.ts'

type Db = Pick<Storage, 'db'>

/** The databases keep it in an index, whose entries are bounded. */
const longest = 500

export const externalIdIn = ({ externalId }: Resource): string | null => {
  if (typeof externalId !== 'string') return null
  if (externalId.length > longest)
    throw invalidValue(`externalId has more than ${longest} characters`)
  return externalId
}

export const externalIdsOfUsers = async (
  { db }: Db,
  { token: { sender } }: Pick<ScimCall, 'token'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const rows = await readInSlices(ids, (part) =>
    db
      .selectFrom('scim_users')
      .select(['user_id', 'external_id'])
      .where('sender', '=', sender)
      .where('user_id', 'in', part)
      .execute(),
  )
  return mapOf(rows.map(({ user_id, external_id }) => [user_id, external_id]))
}

export interface SenderRecord {
  readonly scimSender: string
  readonly externalId: string | null
}

/** The senders that know a user, and by which name. */
export const sendersOf = async ({ db }: Db, userId: string): Promise<SenderRecord[]> => {
  const rows = await db
    .selectFrom('scim_users')
    .select(['sender', 'external_id'])
    .where('user_id', '=', userId)
    .orderBy('sender')
    .execute()
  return rows.map(({ sender, external_id }) => ({ scimSender: sender, externalId: external_id }))
}

/** Of one group, or of all groups of the realm. */
export const externalIdsOfGroups = async (
  { db }: Db,
  { realm, token: { sender } }: Pick<ScimCall, 'token' | 'realm'>,
  id?: string,
): Promise<ReadonlyMap<string, string>> => {
  const all = db
    .selectFrom('scim_groups')
    .select(['group_id', 'external_id'])
    .where('realm', '=', realm)
    .where('sender', '=', sender)
  const rows = await (id === undefined ? all : all.where('group_id', '=', id)).execute()
  return mapOf(rows.map(({ group_id, external_id }) => [group_id, external_id]))
}

const mapOf = (rows: readonly (readonly [string, string | null])[]): Map<string, string> =>
  new Map(rows.flatMap(([id, name]) => (name === null ? [] : [[id, name] as const])))

const naming = preparedStatement((db, row: Pick<ScimUserRow, keyof ScimUserRow>) =>
  db
    .insertInto('scim_users')
    .values({
      user_id: row.user_id,
      realm: row.realm,
      sender: row.sender,
      external_id: row.external_id,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'sender'])
        .doUpdateSet((eb) => ({ external_id: eb.ref('excluded.external_id') })),
    ),
)

export const nameUser = (
  { db }: Db,
  { realm, token: { sender } }: ScimCall,
  userId: string,
  externalId: string | null,
): Statement => naming(db, { user_id: userId, realm, sender, external_id: externalId })

export const nameNewUser = (
  { db }: Db,
  { realm, token: { sender } }: ScimCall,
  userId: string,
  externalId: string | null,
): Statement[] =>
  insertRows(db, 'scim_users', [{ user_id: userId, realm, sender, external_id: externalId }])

export const nameGroup = (
  { db }: Db,
  { realm, token: { sender } }: ScimCall,
  groupId: string,
  externalId: string | null,
): Statement =>
  statement(
    db
      .insertInto('scim_groups')
      .values({ group_id: groupId, realm, sender, external_id: externalId })
      .onConflict((conflict) =>
        conflict.columns(['group_id', 'sender']).doUpdateSet({ external_id: externalId }),
      ),
  )

/** An external id is unique for its sender. */
export const explainExternalId = (error: unknown): unknown =>
  error instanceof ConstraintError &&
  error.constraint === 'unique' &&
  ['scim_users', 'scim_groups'].includes(error.table)
    ? new ScimError(409, 'externalId: another resource of this sender has it already', 'uniqueness')
    : error
