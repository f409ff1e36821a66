/** Many realms quickly: the rows of one, copied under new ids. A signing key of its own for each would cost minutes. */

import { newId } from '#server/platform/ids.ts'
import type { Areas } from '#server/run/open.ts'
import type { Statement } from '#server/storage/contract.ts'
import { insertRows } from '#server/storage/statements.ts'

/** Gives what copies the realm to another name. */
export const realmCopier = async (
  { storage: { db } }: Areas,
  template: string,
): Promise<(name: string) => Statement[]> => {
  const [realm, documents, revisions, operations, changes, keys] = await Promise.all([
    db.selectFrom('realms').selectAll().where('name', '=', template).executeTakeFirstOrThrow(),
    db.selectFrom('documents').selectAll().where('realm', '=', template).execute(),
    db.selectFrom('revisions').selectAll().where('realm', '=', template).execute(),
    db.selectFrom('revision_operations').selectAll().where('realm', '=', template).execute(),
    db.selectFrom('changes').selectAll().where('realm', '=', template).execute(),
    db.selectFrom('signing_keys').selectAll().where('realm', '=', template).execute(),
  ])
  const fromIds = documents.map(({ id }) => id)
  const refs = await db
    .selectFrom('document_refs')
    .selectAll()
    .where('from_id', 'in', fromIds)
    .execute()

  return (name) => {
    const ids = new Map(fromIds.map((id) => [id, newId()]))
    const idOf = (id: string): string => ids.get(id) ?? id
    const own = <T extends { realm: string }>(rows: readonly T[]): T[] =>
      rows.map((row) => ({ ...row, realm: name }))
    return [
      ...insertRows(db, 'realms', [{ ...realm, name }]),
      ...insertRows(
        db,
        'documents',
        own(documents).map((row) => ({
          ...row,
          id: idOf(row.id),
          parent_id: row.parent_id === null ? null : idOf(row.parent_id),
        })),
      ),
      ...insertRows(
        db,
        'document_refs',
        refs.map((row) => ({ ...row, from_id: idOf(row.from_id), to_id: idOf(row.to_id) })),
      ),
      ...insertRows(db, 'revisions', own(revisions)),
      ...insertRows(
        db,
        'revision_operations',
        own(operations).map((row) => ({ ...row, document_id: idOf(row.document_id) })),
      ),
      ...insertRows(db, 'changes', own(changes)),
      // The sealed private halves are bound to the first realm: enough for a start, not for signing.
      ...insertRows(
        db,
        'signing_keys',
        own(keys).map((row) => ({ ...row, id: newId() })),
      ),
    ]
  }
}
