/** Roles: a role does not contain itself. */

import { Role, type RoleDoc } from '../kinds/role.ts'
import { reachesItself, ruleFor } from './rule.ts'

export const role = ruleFor<RoleDoc>(Role, ({ composites }, name, { find }) => {
  const contained = (other: string): readonly string[] =>
    (find(Role.kind, other)?.['composites'] as string[] | undefined) ?? []
  return reachesItself(name, composites, contained)
    ? [{ field: '/composites', code: 'cycle', message: 'the role would contain itself' }]
    : []
})
