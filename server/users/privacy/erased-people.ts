/**
 * Managed users who were erased (GDPR article 17) and are still in files: a plan or an import must not restore them unnoticed.
 * Only a keyed hash of their names is kept, which reveals nothing without the key of the server.
 */

import { hmacSha256 } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'

type Named = Pick<UserRow, 'username_key' | 'email_key'>

export interface ErasedPeople {
  /** To be committed with the erasure. */
  record(user: Named & Pick<UserRow, 'realm'>, now: number): Statement[]
  /** When the person with a name of these was erased, by place in the list. */
  find(realm: string, users: readonly Named[]): Promise<readonly (number | undefined)[]>
}

export interface ErasedPeopleParts {
  readonly storage: Pick<Storage, 'db'>
  readonly key: Uint8Array
}

export const createErasedPeople = ({ storage: { db }, key }: ErasedPeopleParts): ErasedPeople => {
  const hashesOf = (realm: string, { username_key, email_key }: Named): string[] =>
    [username_key, email_key].flatMap((name) =>
      name === null ? [] : hmacSha256(key, JSON.stringify([realm, name])),
    )
  return {
    record: (user, now) =>
      hashesOf(user.realm, user).map((name) =>
        statement(
          db
            .insertInto('erased_people')
            .values({ realm: user.realm, name, erased_at: now })
            .onConflict((conflict) =>
              conflict.columns(['realm', 'name']).doUpdateSet({ erased_at: now }),
            ),
        ),
      ),
    find: async (realm, users) => {
      if (users.length === 0) return []
      const hashes = users.map((user) => hashesOf(realm, user))
      const rows = await readInSlices(hashes.flat(), (part) =>
        db
          .selectFrom('erased_people')
          .selectAll()
          .where('realm', '=', realm)
          .where('name', 'in', part)
          .execute(),
      )
      const erased = new Map(rows.map(({ name, erased_at }) => [name, erased_at]))
      return hashes.map((own) => own.map((hash) => erased.get(hash)).find(Boolean))
    },
  }
}
