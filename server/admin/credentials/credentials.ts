/** Credentials of a user as an administrator sees and manages them. Stored values are never returned. */

import { Problem } from '#schemas/problems.ts'
import { removeCredential } from '#server/credentials/credential-removal.ts'
import { credentialsOf } from '#server/credentials/credentials.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { type Action, bodyOf, noContent } from '../action.ts'
import { userEvent, userIn, userToChange } from '../users/users.ts'
import { otpCredential } from './credential-otp.ts'
import { passwordCredential } from './credential-password.ts'
import { recoveryCodesCredential } from './credential-recovery-codes.ts'
import {
  type CredentialParts,
  credentialFields,
  type SettableType,
  shown,
} from './credential-type.ts'

const common = { permission: 'manage-users', resourceType: 'users' } as const
const path = '/users/:userId/credentials'

export const credentialActions = (parts: CredentialParts): Action[] => {
  /** THE list of types that can be set, by the `type` of their body. */
  const types: Readonly<Record<string, SettableType>> = {
    password: passwordCredential(parts),
    otp: otpCredential(parts),
    'recovery-codes': recoveryCodesCredential(parts),
  }
  const settable = Object.values(types)

  return [
    {
      ...common,
      operationId: 'list-user-credentials',
      method: 'GET',
      path,
      permission: 'view-users',
      summary: 'Credentials of a user, without what they hold',
      reply: { status: 200, schema: { type: 'array', items: bodyOf(credentialFields) } },
      handle: async (context) => {
        const user = await userIn(parts, context)
        const rows = await credentialsOf(parts.storage, user.id)
        return rows.toSorted((a, b) => a.priority - b.priority || (a.id < b.id ? -1 : 1)).map(shown)
      },
    },
    {
      ...common,
      operationId: 'create-user-credential',
      method: 'POST',
      events: [...new Set(settable.flatMap(({ events }) => events))],
      path,
      summary:
        'Sets a credential, ends the sessions of the user, and returns generated values once',
      body: {
        type: 'object',
        discriminator: { propertyName: 'type' },
        oneOf: settable.map(({ body }) => body),
      },
      reply: {
        status: 201,
        schema: bodyOf(
          Object.assign({}, credentialFields, ...settable.map(({ shownOnce }) => shownOnce)),
          Object.keys(credentialFields),
        ),
      },
      handle: async (context) => {
        const user = await userToChange(parts, context)
        return types[String(context.body['type'])]?.set(context, user)
      },
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
        const missing = new Problem('not-found', `the user has no such ${type}`)
        const rows = await credentialsOf(parts.storage, user.id)
        const row = rows.find((one) => one.id === id && one.type === type)
        if (!row) throw missing
        try {
          await parts.recorder.commit(
            [...removeCredential(parts.storage, row), ...parts.sessions.revokeAllOf(user.id)],
            [
              userEvent(context, 'ADMIN_UPDATE', user.id, `${type} removed`),
              userEvent(context, 'REMOVE_CREDENTIAL', user.id, type),
            ],
          )
        } catch (error) {
          throw error instanceof GuardFailedError ? missing : error
        }
      },
    },
  ]
}
