/**
 * Grants end with the session or the user they were given to. Refresh tokens and codes are deleted with their grant; access
 * tokens that name it are refused from then on.
 */

import type { SelectQueryBuilder } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { Tables } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>
type Sids = SelectQueryBuilder<Tables, 'sessions', { sid: string }>

/** Of the sessions that the query selects; an offline grant outlives its session. */
export const endGrantsWithin = ({ db }: Db, sids: Sids): Statement =>
  statement(db.deleteFrom('token_grants').where('sid', 'in', sids).where('offline', '=', 0))

/** Of one session; an offline grant outlives it. */
export const endGrantsOfSession = ({ db }: Db, realm: string, sid: string): Statement =>
  statement(
    db
      .deleteFrom('token_grants')
      .where('sid', '=', sid)
      .where('realm', '=', realm)
      .where('offline', '=', 0),
  )

/** All of the user, offline ones too, but for those that were given within the session. */
export const endGrantsOutside = ({ db }: Db, userId: string, sid: string): Statement =>
  statement(
    db
      .deleteFrom('token_grants')
      .where('user_id', '=', userId)
      .where((eb) => eb.or([eb('sid', 'is', null), eb('sid', '!=', sid)])),
  )

/** All of these users, offline ones too. */
export const endGrantsOfUsers = ({ db }: Db, userIds: readonly string[]): Statement =>
  statement(db.deleteFrom('token_grants').where('user_id', 'in', userIds))
