/** The credentials of users beside their password, as sign-ins ask for them. */

import type { Storage } from '#server/storage/contract.ts'
import { preparedQuery } from '#server/storage/prepared.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'

/** Second factors. Recovery codes replace one, and do not count as one. */
export const factorTypes: readonly string[] = ['otp', 'webauthn', 'push']

export interface Factors {
  /** Preferred ones first. */
  ofType(userId: string, type: string): Promise<CredentialRow[]>
  has(userId: string, types: readonly string[]): Promise<boolean>
  /** Whether the user has any factor beside the password. */
  hasFactor(user: Pick<UserRow, 'id'>): Promise<boolean>
}

const typesOf = preparedQuery('credential-types', (db, { userId }: { userId: string }) =>
  db.selectFrom('credentials').select('type').distinct().where('user_id', '=', userId),
)

const credentialsOfType = preparedQuery(
  'credentials-of-type',
  (db, { userId, type }: { userId: string; type: string }) =>
    db
      .selectFrom('credentials')
      .selectAll()
      .where('user_id', '=', userId)
      .where('type', '=', type)
      .orderBy('priority')
      .orderBy('created_at'),
)

export const createFactors = ({ db }: Pick<Storage, 'db'>): Factors => {
  const has: Factors['has'] = async (userId, types) =>
    types.length > 0 && (await typesOf(db, { userId })).some(({ type }) => types.includes(type))
  return {
    ofType: (userId, type) => credentialsOfType(db, { userId, type }),
    has,
    hasFactor: ({ id }) => has(id, factorTypes),
  }
}
