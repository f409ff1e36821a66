/** Removes a credential with its dependents: a device that is no longer a factor gets no more messages. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'
import { deviceType, type StoredDevice } from './devices/devices.ts'

export const credentialGuard = 'credential'

/** Fails the guard where it is gone already. */
export const removeCredential = (
  { db }: Pick<Storage, 'db'>,
  { id, user_id, type, secret }: CredentialRow,
): Statement[] => {
  const gone = db.deleteFrom('credentials').where('id', '=', id).where('user_id', '=', user_id)
  if (type !== deviceType) return [guarded(gone, credentialGuard)]
  const { deviceId }: StoredDevice = JSON.parse(secret)
  const address = db
    .deleteFrom('push_tokens')
    .where('user_id', '=', user_id)
    .where('device_id', '=', deviceId)
  return [guarded(gone, credentialGuard), statement(address)]
}

/**
 * All that the user got since a time, with enrolments of devices that are under way; with `password` the password too,
 * however old it is.
 */
export const removeCredentialsSince = (
  { db }: Pick<Storage, 'db'>,
  userId: string,
  since: number,
  { password }: { readonly password: boolean },
): Statement[] => [
  statement(
    db
      .deleteFrom('credentials')
      .where('user_id', '=', userId)
      .where((eb) => {
        const isSince = eb('created_at', '>=', since)
        return password ? eb.or([isSince, eb('type', '=', 'password')]) : isSince
      }),
  ),
  statement(
    db.deleteFrom('push_tokens').where('user_id', '=', userId).where('created_at', '>=', since),
  ),
  statement(db.deleteFrom('device_enrolments').where('user_id', '=', userId)),
]
