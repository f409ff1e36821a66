/**
 * Existing users that no file declared before: a document states a user as a whole, so that fields that it leaves out are removed. A plan
 * knows nothing of them before the server tells it.
 */

import type { Kysely } from 'kysely'
import { diff, type FieldChange } from '#schemas/diff.ts'
import { User } from '#schemas/kinds/users/user.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { unmanagedUsersIn } from '../transfer/unmanaged-users.ts'
import type { Effect } from '../write/effects.ts'

const isLoss = (change: FieldChange): boolean =>
  change.change === 'remove' || (change.change === 'set' && (change.before ?? null) !== null)

/** `attributes.title` of `/attributes/title/0`. */
const fieldOf = ({ pointer }: FieldChange): string => {
  const [name = '', part] = pointer.slice(1).split('/')
  return name === 'attributes' && part !== undefined
    ? `${name}.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`
    : name
}

/** The fields of such users whose values go or change, by id. */
export const replacedFields = async (
  effects: readonly Effect[],
  { db, realm }: { readonly db: Kysely<Tables>; readonly realm: string },
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const adopted = effects.flatMap(({ draft, before, after, prepared }) =>
    draft.kind === User && !before && after && prepared.id !== undefined ? [after] : [],
  )
  const former = await unmanagedUsersIn(
    db,
    realm,
    adopted.map(({ id }) => id),
  )
  return new Map(
    adopted.map(({ id, body }) => {
      const changes = diff(User, former.get(id) ?? {}, body).filter(isLoss)
      return [id, [...new Set(changes.map(fieldOf))]] as const
    }),
  )
}
