/** POST …/users: creates a user with the default role of the realm. */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { UserFields } from '#schemas/wire/records.ts'
import { newId } from '#server/platform/ids.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { insertUserRoles } from '#server/users/memberships.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { type Action, asChecked, bodyOf } from '../action.ts'
import { showUser, type UserParts, userEtag, userEvent, userFields, userSchema } from './users.ts'

/** The role every new user gets, as a list of ids. */
export const defaultRoleIn = async (view: RealmView): Promise<string[]> => {
  const settings = await view.get('settings', 'settings')
  const name = settings && contentOf<SettingsDoc>(settings).defaultRole
  const role = name === undefined ? undefined : await view.get('role', name)
  return role ? [role.id] : []
}

export const createUser = (parts: UserParts): Action => ({
  operationId: 'create-user',
  method: 'POST',
  path: '/users',
  permission: 'manage-users',
  resourceType: 'users',
  summary: "Makes a user, who gets the realm's default role",
  body: bodyOf(userFields, ['username']),
  reply: { status: 201, schema: userSchema },
  handle: async (context) => {
    const { users, recorder, clock, storage } = parts
    const { realm, view, body, request, reply } = context
    const fields = asChecked<Partial<UserFields> & Pick<UserFields, 'username'>>(body)
    const row = newUserRow(fields, { id: newId(), realm, now: clock.now() })
    const roles = (await defaultRoleIn(view)).map((role_id) => ({
      user_id: row.id,
      role_id,
      by_default: 1,
    }))
    try {
      await recorder.commit(
        [...users.createStatements(row), ...insertUserRoles(storage, roles)],
        [userEvent(context, 'ADMIN_CREATE', row.id)],
      )
    } catch (error) {
      throw await users.explain(error, row)
    }
    reply.header('location', `${request.url.split('?')[0]}/${row.id}`).header('etag', userEtag(row))
    return showUser(parts, view, row)
  },
})
