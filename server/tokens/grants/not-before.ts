/** The time before which nothing that was issued is good any more: of a realm, of a client or of a user. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { NotBeforeRow } from '#server/storage/tables/token-tables.ts'

export const putNotBefore = ({ db }: Pick<Storage, 'db'>, row: NotBeforeRow): Statement =>
  statement(
    db
      .insertInto('not_before')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['realm', 'subject_kind', 'subject_id']).doUpdateSet({ at: row.at }),
      ),
  )
