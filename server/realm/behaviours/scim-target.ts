/** SCIM targets: who may write them, and how far provisioning is. */

import { User } from '#schemas/kinds/users/user.ts'
import { Problem } from '#schemas/problems.ts'
import type { Draft } from '../write/drafts.ts'
import type { Behaviour, Prepared, PrepareTools } from './behaviour.ts'

/** A target is a way to read users: a new one, and a change of where they go, needs what reading them needs. */
const refusalOf = ({ body }: Draft, { caller }: PrepareTools): Prepared =>
  body === null || caller.permissions.has(User.permission.read)
    ? {}
    : {
        refused: new Problem(
          'forbidden',
          `a SCIM target sends users: to write one also needs the permission ${User.permission.read}`,
        ),
      }

export const scimTarget: Behaviour = {
  prepare: async (drafts, tools) => ({
    prepared: drafts.map((draft) => refusalOf(draft, tools)),
  }),

  present: async (documents, { db }) => {
    const ids = documents.map(({ id }) => id)
    if (ids.length === 0) return []
    const rows = await db
      .selectFrom('scim_targets')
      .select(['target_id', 'synced_at', 'error'])
      .where('target_id', 'in', ids)
      .execute()
    const byId = new Map(rows.map((row) => [row.target_id, row]))
    return ids.map((id) => ({
      lastSyncAt: byId.get(id)?.synced_at ?? null,
      lastError: byId.get(id)?.error ?? null,
    }))
  },
}
