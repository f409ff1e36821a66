/**
 * Names and attributes that a provider or a directory sets at a sign-in. Without a guard on the version: a sign-in changes the
 * same row in the same transaction, and columns that the provider does not set stay as they are.
 */

import { sql } from 'kysely'
import type { UserFields } from '#schemas/wire/records.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { refusal } from '#server/storage/values.ts'
import { nameOf } from '../names.ts'

export type MappedProfile = Partial<Pick<UserFields, 'firstName' | 'lastName' | 'attributes'>>

const storable = (value: string | null | undefined): value is string =>
  typeof value === 'string' && value !== '' && value.length <= 255 && refusal(value) === undefined

/** Nothing where nothing changes; a value that cannot be stored is left out. */
export const mappedProfile = (
  { db }: Pick<Storage, 'db'>,
  user: UserRow,
  { firstName, lastName, attributes }: MappedProfile,
  now: number,
): Statement[] => {
  const json = JSON.stringify(attributes ?? JSON.parse(user.attributes))
  const set = {
    ...(storable(firstName) && firstName !== user.first_name ? { first_name: firstName } : {}),
    ...(storable(lastName) && lastName !== user.last_name ? { last_name: lastName } : {}),
    ...(json !== user.attributes && refusal(json) === undefined ? { attributes: json } : {}),
  }
  if (Object.keys(set).length === 0) return []
  return [
    statement(
      db
        .updateTable('users')
        .set({ ...set, version: sql<number>`version + 1`, updated_at: now })
        .where('id', '=', user.id),
    ),
  ]
}

/** A verified address, and the name that goes with it; the caller has checked that no other user has it. */
export const mappedAddress = (
  { db }: Pick<Storage, 'db'>,
  { id, realm, username_key: username, email_key: before }: UserRow,
  email: string,
  now: number,
): Statement[] => {
  const { value, key } = nameOf(email)
  return [
    statement(
      db
        .updateTable('users')
        .set({
          email: value,
          email_key: key,
          email_verified: 1,
          version: sql<number>`version + 1`,
          updated_at: now,
        })
        .where('id', '=', id),
    ),
    ...(before === null || before === username
      ? []
      : [
          statement(
            db.deleteFrom('user_names').where('user_id', '=', id).where('name', '=', before),
          ),
        ]),
    ...(key === username ? [] : insertRows(db, 'user_names', [{ realm, name: key, user_id: id }])),
  ]
}
