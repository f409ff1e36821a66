/** Initial passwords of administrators, known to all who read the files. */

import type { Doc } from '#schemas/json-schema.ts'
import { parentKeyOf } from '#schemas/kind.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { User } from '#schemas/kinds/users/user.ts'
import type { Model } from '../../model.ts'
import { isAdmin } from './admin-roles.ts'
import type { WeakChoice } from './weak-choice.ts'

const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

/** The roles of a user that the files tell: their own, and those of their groups and the groups above. */
const rolesOf = (model: Model, user: Doc): string[] => {
  const roles = textsIn(user['roles'])
  for (const path of textsIn(user['groups']))
    for (let key: string | null = path; key !== null; key = parentKeyOf(Group, key))
      roles.push(...textsIn(model.find(Group.kind, key)?.['roles']))
  return roles
}

export const adminInitialPassword: WeakChoice = {
  kind: User,
  code: 'admin-initial-password',
  meaning: 'the initial password of an administrator is known to others',
  find: ({ doc, secrets }, model) =>
    secrets['/initialPassword'] !== undefined &&
    !textsIn(doc['requiredActions']).includes('UPDATE_PASSWORD') &&
    rolesOf(model, doc).some((role) => isAdmin(model, role))
      ? [
          {
            field: '/initialPassword',
            message: 'the initial password of an administrator is known to others',
            hint: 'add UPDATE_PASSWORD to requiredActions, or let them set it by mail',
          },
        ]
      : [],
}
