/** Roles: a role does not contain itself. */

import { circleFrom } from '../../graph/circle.ts'
import { Role, type RoleDoc } from '../../kinds/users/role.ts'
import { ruleFor } from '../rule.ts'

export const role = ruleFor<RoleDoc>(Role, ({ composites }, name, { find, once }) => {
  const contained = (other: string): readonly string[] =>
    other === name
      ? composites
      : ((find(Role.kind, other)?.['composites'] as string[] | undefined) ?? [])
  const circle = circleFrom(
    name,
    contained,
    once('straight roles', () => new Set()),
  )
  if (circle === null) return []
  const message = `the role would contain itself: ${circle}`
  return [{ field: '/composites', code: 'cycle', message }]
})
