/** Groups: what a read adds to the document. */

import { groupSizes } from '#server/users/memberships.ts'
import type { Behaviour } from './behaviour.ts'

export const group: Behaviour = {
  present: async (documents, tools) => {
    const ids = documents.map(({ id }) => id)
    const sizes = await groupSizes(tools, ids)
    return documents.map(({ id, body }) => ({
      memberCount: sizes.get(id) ?? 0,
      roleNames: (body['roles'] as string[] | undefined) ?? [],
    }))
  },
}
