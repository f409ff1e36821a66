/** Agents: born PENDING, with an owner who exists. Their state is data and is moved by lifecycle operations. */

import { invalid } from '#schemas/problems.ts'
import { insertRows } from '#server/storage/statements.ts'
import { usersIn } from '#server/users/user-rows.ts'
import type { Draft } from '../write/drafts.ts'
import type { Behaviour, PrepareTools } from './behaviour.ts'

/** The owner that a change gives an agent. */
const newOwnerOf = ({ before, body }: Draft): string | undefined => {
  const owner = body?.['ownerUserId']
  return typeof owner === 'string' && owner !== before?.body['ownerUserId'] ? owner : undefined
}

const usersAmong = async (
  ids: readonly string[],
  tools: PrepareTools,
): Promise<ReadonlySet<string>> => {
  const rows = await usersIn(tools, tools.realm, 'id', ids)
  return new Set(rows.map(({ id }) => id))
}

const noSuchUser = () =>
  invalid([{ field: '/ownerUserId', code: 'missing-reference', message: 'there is no such user' }])

export const agent: Behaviour = {
  prepare: async (drafts, tools) => {
    const owners = await usersAmong(
      drafts.flatMap((draft) => newOwnerOf(draft) ?? []),
      tools,
    )
    return {
      prepared: drafts.map((draft) => {
        const owner = newOwnerOf(draft)
        return owner === undefined || owners.has(owner) ? {} : { refused: noSuchUser() }
      }),
      statements: insertRows(
        tools.db,
        'agent_states',
        drafts
          .filter(({ before, body }) => !before && body)
          .map(({ id }) => ({
            agent_id: id,
            status: 'PENDING',
            last_reviewed_at: null,
            next_review_at: null,
            last_used_at: null,
          })),
      ),
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
