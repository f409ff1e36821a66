/** SCIM targets: how far provisioning is. */

import type { Behaviour } from './behaviour.ts'

export const scimTarget: Behaviour = {
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
