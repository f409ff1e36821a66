/** Agents: born PENDING, with an owner who exists. Their state is data and is moved by lifecycle operations. */

import type { AgentDoc } from '#schemas/kinds/agent.ts'
import { invalid } from '#schemas/problems.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { Behaviour } from '../behaviour.ts'
import { draftValue } from '../drafts.ts'

export const agent: Behaviour = {
  prepare: async (draft, { realm, db }) => {
    if (draft.body === null) return {}
    const { ownerUserId } = draftValue<AgentDoc>(draft)
    if (ownerUserId !== undefined && ownerUserId !== draft.before?.body['ownerUserId']) {
      const owner = await db
        .selectFrom('users')
        .select('id')
        .where('realm', '=', realm)
        .where('id', '=', ownerUserId)
        .executeTakeFirst()
      if (!owner)
        throw invalid([
          { field: '/ownerUserId', code: 'missing-reference', message: 'there is no such user' },
        ])
    }
    if (draft.before) return {}
    return {
      statements: insertRows(db, 'agent_states', [
        {
          agent_id: draft.id,
          status: 'PENDING',
          last_reviewed_at: null,
          next_review_at: null,
          last_used_at: null,
        },
      ]),
    }
  },

  present: async (documents, { db }) => {
    const ids = documents.map(({ id }) => id)
    const rows =
      ids.length === 0
        ? []
        : await db.selectFrom('agent_states').selectAll().where('agent_id', 'in', ids).execute()
    const states = new Map(rows.map((row) => [row.agent_id, row]))
    return documents.map(({ id }) => {
      const state = states.get(id)
      return {
        status: state?.status ?? 'PENDING',
        lastReviewedAt: state?.last_reviewed_at ?? null,
        nextReviewAt: state?.next_review_at ?? null,
        lastUsedAt: state?.last_used_at ?? null,
      }
    })
  },
}
