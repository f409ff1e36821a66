/**
 * Transactions: a client asks a user to sign something exactly as it is, the user signs it with a key of theirs, and the
 * client uses that once. What is signed is the SHA-256 of the payload, so that nothing else can be made of the signature.
 */

import { createHash } from 'node:crypto'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { TransactionRow } from '#server/storage/sign-in-tables.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'

export const transactionGuard = 'transaction'
/** Fails where the key has signed the same payload before. */
export const signedGuard = 'transaction-payload'

/** How long it can still be told that a transaction came too late. */
const keptMs = 60 * 60_000
/** How long a key does not sign the same payload again. */
const signedMs = 365 * 24 * 60 * 60_000

export type TransactionStatus = TransactionRow['status'] | 'EXPIRED'

export type NewTransaction = Pick<
  TransactionRow,
  'realm' | 'client_id' | 'user_id' | 'type' | 'payload' | 'display_text'
> & { readonly lifetimeMs: number }

export interface Transactions {
  create(transaction: NewTransaction): {
    readonly row: TransactionRow
    readonly statements: Statement[]
  }
  find(realm: string, id: string): Promise<TransactionRow | undefined>
  statusOf(row: TransactionRow): TransactionStatus
  /** Fails a guard where it is signed or over, or where the key has signed the same payload before. */
  sign(row: TransactionRow, credentialId: string): Statement[]
  /** Fails the guard unless it is signed, in time and not used. */
  consume(row: TransactionRow): Statement[]
  forgetStatements(): Statement[]
}

export const createTransactions = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): Transactions => {
  const change = (
    { id }: TransactionRow,
    before: TransactionRow['status'],
    after: Pick<TransactionRow, 'status'> & Partial<TransactionRow>,
  ): Statement => {
    const update = db
      .updateTable('transactions')
      .set(after)
      .where('id', '=', id)
      .where('status', '=', before)
      .where('expires_at', '>', clock.now())
    return guarded(update, transactionGuard)
  }

  return {
    create({ lifetimeMs, ...transaction }) {
      const now = clock.now()
      const row: TransactionRow = {
        ...transaction,
        id: newId(),
        status: 'PENDING',
        hash: createHash('sha256').update(transaction.payload).digest('base64url'),
        credential_id: null,
        created_at: now,
        expires_at: now + lifetimeMs,
      }
      return { row, statements: insertRows(db, 'transactions', [row]) }
    },

    find: (realm, id) =>
      db
        .selectFrom('transactions')
        .selectAll()
        .where('id', '=', id)
        .where('realm', '=', realm)
        .executeTakeFirst(),

    statusOf: ({ status, expires_at }) =>
      status !== 'CONSUMED' && expires_at <= clock.now() ? 'EXPIRED' : status,

    sign(row, credentialId) {
      // Whoever saw the signature could otherwise bring it again for the next transaction with the same payload.
      const once = db
        .insertInto('replay_guards')
        .values({
          realm: row.realm,
          purpose: transactionGuard,
          id: sha256(`${credentialId}.${row.hash}`),
          expires_at: clock.now() + signedMs,
        })
        .onConflict((conflict) => conflict.doNothing())
      return [
        change(row, 'PENDING', { status: 'SIGNED', credential_id: credentialId }),
        guarded(once, signedGuard),
      ]
    },

    consume: (row) => [change(row, 'SIGNED', { status: 'CONSUMED' })],

    forgetStatements: () => [
      statement(db.deleteFrom('transactions').where('expires_at', '<=', clock.now() - keptMs)),
    ],
  }
}
