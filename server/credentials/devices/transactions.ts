/**
 * Transactions: a client asks a user to sign something exactly as it is, the user signs it with a key of theirs, and the
 * client uses that once. What is signed is a digest of everything that the transaction is: what the user saw as well as what
 * the client meant, for which user and client, and which transaction. A signature is good for nothing else (PSD2 RTS
 * article 5; docs/decisions/transactions.md has the encoding for verifiers outside).
 */

import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { TransactionRow } from '#server/storage/tables/sign-in-tables.ts'
import { digestOf } from './signed-fields.ts'

export const transactionGuard = 'transaction'

/** How long it can still be told that a transaction came too late. */
const keptMs = 60 * 60_000

export type TransactionStatus = TransactionRow['status'] | 'EXPIRED'

export type NewTransaction = Pick<
  TransactionRow,
  'realm' | 'client_id' | 'user_id' | 'type' | 'payload' | 'display_text'
> & {
  readonly lifetimeMs: number
  /** As the protocol knows the client. */
  readonly clientId: string
}

type Signed = Pick<
  TransactionRow,
  'id' | 'type' | 'payload' | 'display_text' | 'user_id' | 'expires_at'
> & { readonly clientId: string }

const transactionHash = (transaction: Signed): string =>
  digestOf([
    'iamctl-transaction-1',
    transaction.id,
    transaction.type,
    transaction.clientId,
    transaction.user_id,
    transaction.payload,
    transaction.display_text,
    String(transaction.expires_at),
  ]).toString('base64url')

export interface Transactions {
  create(transaction: NewTransaction): {
    readonly row: TransactionRow
    readonly statements: Statement[]
  }
  find(realm: string, id: string): Promise<TransactionRow | undefined>
  statusOf(row: TransactionRow): TransactionStatus
  /** Fails the guard where it is signed or over. */
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
    create({ lifetimeMs, clientId, ...transaction }) {
      const now = clock.now()
      const identified = { ...transaction, id: newId(), expires_at: now + lifetimeMs }
      const row: TransactionRow = {
        ...identified,
        status: 'PENDING',
        hash: transactionHash({ ...identified, clientId }),
        credential_id: null,
        created_at: now,
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

    sign: (row, credentialId) => [
      change(row, 'PENDING', { status: 'SIGNED', credential_id: credentialId }),
    ],

    consume: (row) => [change(row, 'SIGNED', { status: 'CONSUMED' })],

    forgetStatements: () => [
      statement(db.deleteFrom('transactions').where('expires_at', '<=', clock.now() - keptMs)),
    ],
  }
}
