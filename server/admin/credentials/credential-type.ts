/** Shared by the credential actions: the reply of a credential, and the interface of a type that can be set. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import { insertCredentials } from '#server/credentials/credentials.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'
import { holdUser } from '#server/users/user-rows.ts'
import type { ActionContext } from '../action.ts'
import { endOtherSessions, type UserParts, userEvent } from '../users/users.ts'

export interface CredentialParts extends UserParts {
  readonly keyring: Keyring
}

/** A type of credential that an administrator can set. */
export interface SettableType {
  /** Its own body, told from the others by `type`. */
  readonly body: JsonSchema
  /** What the reply holds beside the record, this once. */
  readonly shownOnce: Readonly<Record<string, JsonSchema>>
  readonly events: readonly EventType[]
  readonly set: (context: ActionContext, user: UserRow) => Promise<object>
}

export const credentialFields: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string', format: 'uuid' },
  type: { type: 'string' },
  userLabel: { type: ['string', 'null'] },
  createdDate: { type: 'integer' },
  priority: { type: 'integer' },
}

export const shown = (row: CredentialRow) => ({
  id: row.id,
  type: row.type,
  userLabel: row.label,
  createdDate: row.created_at,
  priority: row.priority,
})

/**
 * Stores a second factor. The user's row is locked first, so that concurrent writes replace each other. Sessions without
 * the factor end, as with a new password.
 */
export const storeFactor = async (
  parts: CredentialParts,
  context: ActionContext,
  row: CredentialRow,
  replaced: readonly Statement[] = [],
): Promise<void> => {
  await parts.recorder.commit(
    [
      holdUser(parts.storage, row.user_id),
      ...replaced,
      ...insertCredentials(parts.storage, [row]),
      ...endOtherSessions(parts, context, row.user_id),
    ],
    [
      userEvent(context, 'ADMIN_UPDATE', row.user_id, row.type),
      userEvent(context, 'UPDATE_CREDENTIAL', row.user_id, row.type),
    ],
  )
}
