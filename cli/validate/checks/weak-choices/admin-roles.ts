/** Roles that administer a realm. */

import { createClosure } from '#schemas/graph/closure.ts'
import { Role, type RoleDoc } from '#schemas/kinds/users/role.ts'
import type { Model } from '../../model.ts'

const permissionsOfModels = new WeakMap<Model, (role: string) => ReadonlySet<string>>()

/** Whether a role, or one that comes with it, has every permission. */
export const isAdmin = (model: Model, name: string): boolean => {
  const roleOf = (key: string) => model.find(Role.kind, key) as RoleDoc | undefined
  const permissionsOf =
    permissionsOfModels.get(model) ??
    createClosure<string, string>({
      own: (key) => roleOf(key)?.permissions ?? [],
      next: (key) => roleOf(key)?.composites ?? [],
    })
  permissionsOfModels.set(model, permissionsOf)
  return permissionsOf(name).has('realm-admin')
}
