/** Credentials of a user as an administrator sees and manages them. What is stored never comes out. */

import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { findIn } from '#server/resources/find.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { guarded } from '#server/storage/statements.ts'
import type { CredentialRow } from '#server/storage/tables.ts'
import { type Action, type ActionContext, bodyOf, noContent } from '../action.ts'
import { endOtherSessions, type UserParts, userEvent, userIn, userToChange } from './users.ts'

const credentialSchema = bodyOf({
  id: { type: 'string', format: 'uuid' },
  type: { type: 'string' },
  userLabel: { type: ['string', 'null'] },
  createdDate: { type: 'integer' },
  priority: { type: 'integer' },
})

const shown = (row: CredentialRow) => ({
  id: row.id,
  type: row.type,
  userLabel: row.label,
  createdDate: row.created_at,
  priority: row.priority,
})

const common = { permission: 'manage-users', resourceType: 'users' } as const
const path = '/users/:userId/credentials'

export const credentialActions = (parts: UserParts): Action[] => {
  const { db } = parts.storage
  const credentialsOf = (userId: string) =>
    db.selectFrom('credentials').selectAll().where('user_id', '=', userId)

  /** A temporary password must be changed at the next sign-in. */
  const setPassword = async (context: ActionContext) => {
    const { value, temporary = false } = context.body as { value: string; temporary?: boolean }
    const user = await userToChange(parts, context)
    const settings = contentOf<SettingsDoc>(await findIn(context.view, Settings, Settings.kind))
    const prepared = await parts.passwords.prepare(settings, user, value, '/value')
    if (prepared.errors.length > 0) throw invalid(prepared.errors)
    const actions = new Set(JSON.parse(user.required_actions) as string[])
    if (temporary) actions.add('UPDATE_PASSWORD')
    await parts.recorder.commit(
      [
        ...prepared.statements,
        guarded(
          db
            .updateTable('users')
            .set({ required_actions: JSON.stringify([...actions]), version: user.version + 1 })
            .where('id', '=', user.id)
            .where('version', '=', user.version),
          `user:${user.id}`,
        ),
        endOtherSessions(parts, context, user.id),
      ],
      [
        userEvent(context, 'ADMIN_UPDATE', user.id, 'password'),
        userEvent(context, 'RESET_PASSWORD', user.id),
      ],
    )
    return shown(
      await credentialsOf(user.id).where('type', '=', 'password').executeTakeFirstOrThrow(),
    )
  }

  return [
    {
      ...common,
      operationId: 'list-user-credentials',
      method: 'GET',
      path,
      permission: 'view-users',
      summary: 'Credentials of a user, without what they hold',
      reply: { status: 200, schema: { type: 'array', items: credentialSchema } },
      handle: async (context) => {
        const user = await userIn(parts, context)
        const rows = await credentialsOf(user.id).orderBy('priority').orderBy('id').execute()
        return rows.map(shown)
      },
    },
    {
      ...common,
      operationId: 'create-user-credential',
      method: 'POST',
      events: ['ADMIN_UPDATE', 'RESET_PASSWORD'],
      path,
      summary: 'Sets the password of a user; temporary means it must be changed',
      body: bodyOf(
        {
          type: { type: 'string', enum: ['password'] },
          value: { type: 'string', minLength: 1, maxLength: 1024 },
          temporary: { type: 'boolean' },
        },
        ['type', 'value'],
      ),
      reply: { status: 201, schema: credentialSchema },
      handle: setPassword,
    },
    {
      ...common,
      operationId: 'delete-user-credential',
      method: 'DELETE',
      events: ['ADMIN_UPDATE', 'REMOVE_CREDENTIAL'],
      path: `${path}/:type/:id`,
      summary: 'Revokes a credential and ends the sessions of the user',
      reply: noContent,
      handle: async (context) => {
        const user = await userToChange(parts, context)
        const { type = '', id = '' } = context.params
        const remove = db
          .deleteFrom('credentials')
          .where('id', '=', id)
          .where('user_id', '=', user.id)
          .where('type', '=', type)
        try {
          await parts.recorder.commit(
            [guarded(remove, 'credential'), ...parts.sessions.revokeAllOf(user.id)],
            [
              userEvent(context, 'ADMIN_UPDATE', user.id, `${type} removed`),
              userEvent(context, 'REMOVE_CREDENTIAL', user.id, type),
            ],
          )
        } catch (error) {
          if (!(error instanceof GuardFailedError)) throw error
          throw new Problem('not-found', `the user has no such ${type}`)
        }
      },
    },
  ]
}
