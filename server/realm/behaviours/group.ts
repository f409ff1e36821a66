/** Groups: what a read adds to the document, and that a group which comes, moves or goes changes the members of those above it. */

import { countGroups } from '#server/users/group-versions.ts'
import { groupSizes } from '#server/users/memberships.ts'
import type { Behaviour } from './behaviour.ts'

export const group: Behaviour = {
  prepare: async (drafts, tools) => {
    const changed = drafts.flatMap((draft) => {
      const parents = [draft.before?.parentId ?? null, tools.drafts.parentIdOf(draft)]
      return parents[0] === parents[1] ? [] : parents.filter((id) => id !== null)
    })
    return {
      prepared: drafts.map(() => ({})),
      statements: countGroups(tools, [...new Set(changed)], tools.now),
    }
  },

  present: async (documents, tools) => {
    const ids = documents.map(({ id }) => id)
    const sizes = await groupSizes(tools, ids)
    return documents.map(({ id, body }) => ({
      memberCount: sizes.get(id) ?? 0,
      roleNames: (body['roles'] as string[] | undefined) ?? [],
    }))
  },
}
