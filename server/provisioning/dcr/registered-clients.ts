/** The rows of clients that registered themselves, or that have metadata documents. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { RegisteredClientRow } from '#server/storage/tables/provisioning-tables.ts'

/** Names of guards whose failure is the answer (server/realm/write/write.ts). */
export const guards = {
  /** The realm has as many as it takes. */
  maximum: 'final:registered-clients',
  /** The registration access token was replaced meanwhile. */
  token: 'final:registration-token',
} as const

const dayMs = 86_400_000

type Source = RegisteredClientRow['source']

export const createRegisteredClients = ({ db }: Pick<Storage, 'db'>) => {
  const ofRealm = (realm: string, source: Source) =>
    db.selectFrom('registered_clients').where('realm', '=', realm).where('source', '=', source)

  return {
    find: (realm: string, clientId: string): Promise<RegisteredClientRow | undefined> =>
      db
        .selectFrom('registered_clients')
        .selectAll()
        .where('client_id', '=', clientId)
        .where('realm', '=', realm)
        .executeTakeFirst(),

    /** Fails the guard `maximum` where the realm has more than `most` of them then. */
    insert: (row: RegisteredClientRow, most: number): Statement[] => [
      ...insertRows(db, 'registered_clients', [row]),
      // The transaction counts the changes of the realm first, and so waits for others that do the same.
      guarded(
        db
          .updateTable('registered_clients')
          .set({ registered_at: row.registered_at })
          .where('client_id', '=', row.client_id)
          .where(
            ofRealm(row.realm, row.source).select(({ fn }) => fn.countAll<number>().as('count')),
            '<=',
            most,
          ),
        guards.maximum,
      ),
    ],

    /** Another token and other metadata, unless the token is another one already. */
    replace: (
      { client_id, token_hash }: RegisteredClientRow,
      next: Pick<RegisteredClientRow, 'token_hash' | 'metadata'>,
    ): Statement =>
      guarded(
        db
          .updateTable('registered_clients')
          .set(next)
          .where('client_id', '=', client_id)
          .where('token_hash', '=', token_hash),
        guards.token,
      ),

    /** The metadata document was read again. */
    read: (
      clientId: string,
      next: Pick<RegisteredClientRow, 'metadata' | 'fetched_at' | 'fresh_until'>,
    ): Statement =>
      statement(db.updateTable('registered_clients').set(next).where('client_id', '=', clientId)),

    /** The first use, and then to the day: a client that is used all the time is written once a day. */
    used: (clientId: string, now: number): Statement =>
      statement(
        db
          .updateTable('registered_clients')
          .set({ last_used_at: now })
          .where('client_id', '=', clientId)
          .where((eb) =>
            eb.or([
              eb('last_used_at', '<=', now - dayMs),
              eb('last_used_at', '=', eb.ref('registered_at')),
            ]),
          ),
      ),

    /** The oldest client with a metadata document that was named before `time`, and never used. */
    neverUsed: async (realm: string, time: number): Promise<string | undefined> => {
      const row = await ofRealm(realm, 'metadata-document')
        .select('client_id')
        .whereRef('last_used_at', '=', 'registered_at')
        .where('registered_at', '<', time)
        .orderBy('registered_at')
        .executeTakeFirst()
      return row?.client_id
    },

    /** Ids of those that were last used before `time`, in the order of ids, from the one after `after` on. */
    unusedSince: async (
      realm: string,
      time: number,
      { after, most }: { readonly after: string; readonly most: number },
    ): Promise<string[]> => {
      const rows = await db
        .selectFrom('registered_clients')
        .select('client_id')
        .where('realm', '=', realm)
        .where('last_used_at', '<', time)
        .where('client_id', '>', after)
        .orderBy('client_id')
        .limit(most)
        .execute()
      return rows.map(({ client_id }) => client_id)
    },
  }
}

export type RegisteredClients = ReturnType<typeof createRegisteredClients>
