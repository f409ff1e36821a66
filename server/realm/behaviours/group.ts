/** Groups: what a read adds to the document. */

import type { Behaviour } from './behaviour.ts'

export const group: Behaviour = {
  present: async (documents, { db }) => {
    const ids = documents.map(({ id }) => id)
    const counts = new Map<string, number>()
    for (let start = 0; start < ids.length; start += 1000) {
      const rows = await db
        .selectFrom('user_groups')
        .select(['group_id', (eb) => eb.fn.countAll<number>().as('members')])
        .where('group_id', 'in', ids.slice(start, start + 1000))
        .groupBy('group_id')
        .execute()
      for (const row of rows) counts.set(row.group_id, Number(row.members))
    }
    return documents.map(({ id, body }) => ({
      memberCount: counts.get(id) ?? 0,
      roleNames: (body['roles'] as string[] | undefined) ?? [],
    }))
  },
}
