/**
 * Limits that concurrent writers cannot pass together, on any number of nodes. The writers of one counted set hold the row that the
 * set belongs to until they commit (`holdDocument`, `holdUsers`), and count after their own insert: what others have committed
 * before is counted too.
 */

import { type Expression, sql } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded } from '#server/storage/statements.ts'

/** Fails the guard where the query finds a larger count. */
export const atMost = (
  { db }: Pick<Storage, 'db'>,
  count: Expression<unknown>,
  most: number,
  guard: string,
): Statement =>
  guarded({ compile: () => sql`select 1 as within where (${count}) <= ${most}`.compile(db) }, guard)
