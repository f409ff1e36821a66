/** The addresses of devices that take push messages. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { PushTokenRow } from '#server/storage/tables/tables.ts'

/** A sealed token does not open for another realm or record. */
export const pushTokenContext = (realm: string, id: string): string => `${realm}/push-token/${id}`

/** Makes the row, or replaces the one of the same device. */
export const savePushToken = ({ db }: Pick<Storage, 'db'>, row: PushTokenRow): Statement => {
  const { id: _, realm: __, user_id: ___, device_id: ____, ...columns } = row
  return statement(
    db
      .insertInto('push_tokens')
      .values(row)
      .onConflict((conflict) => conflict.columns(['user_id', 'device_id']).doUpdateSet(columns)),
  )
}
