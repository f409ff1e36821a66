/**
 * Changes of an address that the old address can undo: by a link that goes there and nowhere else, is kept as a digest, and
 * is good once and for a week. The links of later changes end with it, so that an address that was set by an intruder
 * cannot undo the undoing; those of earlier changes stay good.
 */

import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { AddressUndoRow } from '#server/storage/tables/sign-in-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'

/** Fails where it was used at the same moment, or has expired. */
export const addressUndoGuard = 'address-undo'

const lifetimeMs = 7 * 24 * 60 * 60_000

export interface AddressUndos {
  /** For the transaction that changes the address of the user, who has one; the token goes into the link alone. */
  create(before: UserRow): {
    readonly token: string
    readonly expiresAt: number
    readonly statements: Statement[]
  }
  /** Undefined where it was never made, was used, or has expired. */
  find(realm: string, token: string): Promise<AddressUndoRow | undefined>
  /** Uses it up, and ends those of later changes. */
  use(undo: AddressUndoRow): Statement[]
  /** Whether an old address could still take the account back. */
  arePending(userId: string): Promise<boolean>
  endAllOf(userId: string): Statement
  forgetStatements(): Statement[]
}

const made = /^[A-Za-z0-9_-]{43}$/

export const createAddressUndos = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): AddressUndos => ({
  create: ({ id, realm, email, email_verified }) => {
    const token = randomToken()
    const now = clock.now()
    const row: AddressUndoRow = {
      id: newId(),
      realm,
      user_id: id,
      email: email ?? '',
      email_verified,
      digest: sha256(token),
      created_at: now,
      expires_at: now + lifetimeMs,
    }
    return {
      token,
      expiresAt: row.expires_at,
      statements: insertRows(db, 'address_undos', [row]),
    }
  },

  find: async (realm, token) =>
    made.test(token)
      ? db
          .selectFrom('address_undos')
          .selectAll()
          .where('realm', '=', realm)
          .where('digest', '=', sha256(token))
          .where('expires_at', '>', clock.now())
          .executeTakeFirst()
      : undefined,

  use: ({ id, user_id, created_at }) => [
    guarded(
      db.deleteFrom('address_undos').where('id', '=', id).where('expires_at', '>', clock.now()),
      addressUndoGuard,
    ),
    statement(
      db
        .deleteFrom('address_undos')
        .where('user_id', '=', user_id)
        .where('created_at', '>=', created_at),
    ),
  ],

  arePending: async (userId) =>
    (await db
      .selectFrom('address_undos')
      .select('id')
      .where('user_id', '=', userId)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()) !== undefined,

  endAllOf: (userId) => statement(db.deleteFrom('address_undos').where('user_id', '=', userId)),

  forgetStatements: () => [
    statement(db.deleteFrom('address_undos').where('expires_at', '<=', clock.now())),
  ],
})
