/** The addresses of devices that take push messages. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { PushTokenRow } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>

/** A sealed token does not open for another realm or record. */
export const pushTokenContext = (realm: string, id: string): string => `${realm}/push-token/${id}`

/** Those made last, at most a thousand. */
export const listPushTokens = ({ db }: Db, realm: string): Promise<PushTokenRow[]> =>
  db
    .selectFrom('push_tokens')
    .selectAll()
    .where('realm', '=', realm)
    .orderBy('created_at', 'desc')
    .limit(1000)
    .execute()

export const findPushToken = (
  { db }: Db,
  realm: string,
  id: string,
): Promise<PushTokenRow | undefined> =>
  db
    .selectFrom('push_tokens')
    .selectAll()
    .where('realm', '=', realm)
    .where('id', '=', id)
    .executeTakeFirst()

export const pushTokenOfDevice = (
  { db }: Db,
  userId: string,
  deviceId: string,
): Promise<PushTokenRow | undefined> =>
  db
    .selectFrom('push_tokens')
    .selectAll()
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .executeTakeFirst()

/** Makes the row, or replaces the one of the same device. */
export const savePushToken = ({ db }: Db, row: PushTokenRow): Statement => {
  const { id: _, realm: __, user_id: ___, device_id: ____, ...columns } = row
  return statement(
    db
      .insertInto('push_tokens')
      .values(row)
      .onConflict((conflict) => conflict.columns(['user_id', 'device_id']).doUpdateSet(columns)),
  )
}
