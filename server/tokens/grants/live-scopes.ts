/** The scopes of all grants of a user that are alive, by client: what tokens that were issued before can still do. */

import type { Storage } from '#server/storage/contract.ts'

export type LiveScopes = (
  realm: string,
  userId: string,
  now: number,
) => Promise<ReadonlyMap<string, ReadonlySet<string>>>

export const createLiveScopes =
  ({ db }: Pick<Storage, 'db'>): LiveScopes =>
  async (realm, userId, now) => {
    const rows = await db
      .selectFrom('token_grants')
      .select(['client_id', 'scope'])
      .distinct()
      .where('user_id', '=', userId)
      .where('realm', '=', realm)
      .where('expires_at', '>', now)
      .execute()
    const scopes = new Map<string, Set<string>>()
    for (const { client_id, scope } of rows) {
      const known = scopes.get(client_id) ?? new Set()
      for (const one of JSON.parse(scope) as string[]) known.add(one)
      scopes.set(client_id, known)
    }
    return scopes
  }
