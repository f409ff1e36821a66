/** Roles: a role does not contain itself. */

import { Role, type RoleDoc } from '../kinds/role.ts'
import { circleFrom, ruleFor } from './rule.ts'

export const role = ruleFor<RoleDoc>(Role, ({ composites }, name, { find }) => {
  const contained = (other: string): readonly string[] =>
    (find(Role.kind, other)?.['composites'] as string[] | undefined) ?? []
  const circle = circleFrom(name, composites, contained)
  if (circle === null) return []
  const message = `the role would contain itself: ${circle}`
  return [{ field: '/composites', code: 'cycle', message }]
})
