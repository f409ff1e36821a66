/**
 * Whether an administrator may still act as a user: of the realm or of master, able to sign in, and `realm-admin`. A session in
 * which the administrator acts as a user counts no longer than that.
 */

import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { Ranks } from './permissions.ts'

export type MayImpersonate = (administratorId: string) => Promise<boolean>

export const createMayImpersonate =
  ({
    storage: { db },
    copy,
    ranks,
  }: {
    readonly storage: Pick<Storage, 'db'>
    readonly copy: Pick<Copy, 'fresh'>
    readonly ranks: Pick<Ranks, 'permissionsOf'>
  }): MayImpersonate =>
  async (administratorId) => {
    const row = await db
      .selectFrom('users')
      .select('realm')
      .where('id', '=', administratorId)
      .where('enabled', '=', 1)
      .where('locked', '=', 0)
      .executeTakeFirst()
    const view = row && (await copy.fresh(row.realm))
    return view ? (await ranks.permissionsOf(view, administratorId)).has('realm-admin') : false
  }
