/** Consents of users to clients: asked once, stored per user and client, and revoked together with the grants. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, held, statement } from '#server/storage/statements.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { reopenDelegations, revokeDelegations } from '../delegation/delegations.ts'

/** Fails where there is no such consent. */
export const consentGuard = 'consent'

/** As APIs list it. */
export interface ConsentRecord {
  readonly clientId: string
  readonly grantedClientScopes: readonly string[]
  /** Epoch milliseconds. */
  readonly createdDate: number
  readonly lastUpdatedDate: number
}

export const consentsSchema: JsonSchema = {
  type: 'array',
  items: {
    title: 'consent',
    type: 'object',
    properties: {
      clientId: { type: 'string' },
      grantedClientScopes: { type: 'array', items: { type: 'string' } },
      createdDate: { type: 'integer', description: 'Epoch milliseconds.' },
      lastUpdatedDate: { type: 'integer', description: 'Epoch milliseconds.' },
    },
    required: ['clientId', 'grantedClientScopes', 'createdDate', 'lastUpdatedDate'],
    additionalProperties: false,
  },
}

/** Clients are named by the ids of their documents, except in records. */
export interface Consents {
  /** Undefined where nothing was ever allowed; a consent may be to no scope at all. */
  scopesOf(userId: string, clientId: string): Promise<ReadonlySet<string> | undefined>
  /** Adds to what was allowed before, unless that is revoked before the statements are committed. */
  grant(
    realm: string,
    userId: string,
    clientId: string,
    scopes: readonly string[],
  ): Promise<Statement[]>
  /** Fails `consentGuard` when the consent was revoked since; a later revocation ends the grant that is made with it. */
  hold(userId: string, clientId: string): Statement
  list(realm: string, userId: string): Promise<ConsentRecord[]>
  /** Also ends every grant of the user to the client, offline ones too, and what it does as an agent. */
  revoke(realm: string, userId: string, clientId: string): Statement[]
  /** As `revoke`, whether there is a consent or not. */
  forget(realm: string, userId: string, clientId: string): Statement[]
}

export const createConsents = ({
  storage,
  clock,
  grantsStore,
}: {
  readonly storage: Pick<Storage, 'db' | 'dialect'>
  readonly clock: Clock
  readonly grantsStore: Pick<GrantsStore, 'revokeOfUser'>
}): Consents => {
  const { db, dialect } = storage
  const storedOf = async (userId: string, clientId: string): Promise<string | undefined> => {
    const row = await db
      .selectFrom('consents')
      .select('scopes')
      .where('user_id', '=', userId)
      .where('client_id', '=', clientId)
      .executeTakeFirst()
    return row?.scopes
  }
  const scopesOf: Consents['scopesOf'] = async (userId, clientId) => {
    const stored = await storedOf(userId, clientId)
    return stored === undefined ? undefined : new Set(JSON.parse(stored) as string[])
  }

  const deleteOf = (realm: string, userId: string, clientId: string) =>
    db
      .deleteFrom('consents')
      .where('realm', '=', realm)
      .where('user_id', '=', userId)
      .where('client_id', '=', clientId)

  /** The delegation first: it waits for a token that is being issued, whose grant then ends with the others. */
  const endOf = (userId: string, clientId: string): Statement[] => [
    revokeDelegations(storage, userId, clientId, clock.now()),
    ...grantsStore.revokeOfUser(userId, clientId),
  ]

  return {
    scopesOf,
    grant: async (realm, userId, clientId, added) => {
      const before = await storedOf(userId, clientId)
      const known = before === undefined ? [] : (JSON.parse(before) as string[])
      const scopes = JSON.stringify([...new Set([...known, ...added])])
      const now = clock.now()
      return [
        // First, so that a revocation that is under way is waited for. It has ended the scopes of before, which then stay ended.
        ...(before === undefined
          ? []
          : [
              statement(
                db
                  .updateTable('consents')
                  .set({ scopes, updated_at: now })
                  .where('user_id', '=', userId)
                  .where('client_id', '=', clientId)
                  .where('scopes', '=', before),
              ),
            ]),
        statement(
          db
            .insertInto('consents')
            .values({
              realm,
              user_id: userId,
              client_id: clientId,
              scopes: JSON.stringify([...new Set(added)]),
              created_at: now,
              updated_at: now,
            })
            .onConflict((conflict) => conflict.columns(['user_id', 'client_id']).doNothing()),
        ),
        reopenDelegations(storage, userId, clientId),
      ]
    },
    hold: (userId, clientId) =>
      guarded(
        held(
          dialect,
          db
            .selectFrom('consents')
            .select('user_id')
            .where('user_id', '=', userId)
            .where('client_id', '=', clientId),
        ),
        consentGuard,
      ),
    list: async (realm, userId) => {
      const rows = await db
        .selectFrom('consents')
        .innerJoin('documents', 'documents.id', 'consents.client_id')
        .select(['documents.key', 'scopes', 'consents.created_at', 'consents.updated_at'])
        .where('consents.realm', '=', realm)
        .where('documents.kind', '=', Client.kind)
        .where('user_id', '=', userId)
        .orderBy('documents.key')
        .execute()
      return rows.map(({ key, scopes, created_at, updated_at }) => ({
        clientId: key,
        grantedClientScopes: JSON.parse(scopes) as string[],
        createdDate: created_at,
        lastUpdatedDate: updated_at,
      }))
    },
    revoke: (realm, userId, clientId) => [
      guarded(deleteOf(realm, userId, clientId), consentGuard),
      ...endOf(userId, clientId),
    ],
    forget: (realm, userId, clientId) => [
      statement(deleteOf(realm, userId, clientId)),
      ...endOf(userId, clientId),
    ],
  }
}
