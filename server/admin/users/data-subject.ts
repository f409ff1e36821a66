/** The rights of a person about their data, carried out by an administrator: to have it, and to have it erased. */

import { Problem } from '#schemas/problems.ts'
import { isSelf } from '#server/http/caller.ts'
import { type ErasureParts, erasureStatements } from '#server/realm/erasure.ts'
import { dataExportSchema, type ExportData } from '#server/users/privacy/data-export.ts'
import type { ErasedPeople } from '#server/users/privacy/erased-people.ts'
import type { ErasureRequests } from '#server/users/privacy/erasure-requests.ts'
import { type Action, bodyOf, noContent } from '../action.ts'
import { deleteManagedUser } from './managed-user.ts'
import { type UserParts, userEvent, userToChange } from './users.ts'

export interface DataSubjectParts extends UserParts, ErasureParts {
  readonly storage: UserParts['storage']
  readonly exportData: ExportData
  readonly erasureRequests: Pick<ErasureRequests, 'list'>
  readonly erasedPeople: Pick<ErasedPeople, 'record'>
}

const stillDeclared =
  'The user was declared. Remove the user from the files: until then plans and imports that would create the user again are refused.'

const requestSchema = bodyOf({
  userId: { type: 'string', format: 'uuid' },
  username: { type: 'string' },
  requestedAt: { type: 'integer', description: 'Milliseconds since 1970.' },
})

export const dataSubjectActions = (parts: DataSubjectParts): Action[] => [
  {
    operationId: 'list-erasure-requests',
    method: 'GET',
    path: '/gdpr/erasure-requests',
    permission: 'view-users',
    resourceType: 'users',
    summary: 'Users who have asked to be erased and cannot do it themselves, oldest first',
    reply: { status: 200, schema: { type: 'array', items: requestSchema } },
    handle: ({ realm }) => parts.erasureRequests.list(realm),
  },
  {
    operationId: 'export-user-data',
    method: 'GET',
    path: '/users/:userId/gdpr/export',
    permission: 'manage-users',
    resourceType: 'users',
    events: ['DATA_EXPORT'],
    summary:
      'Everything that is held about the user, who must not hold more permissions than the caller',
    reply: { status: 200, schema: dataExportSchema },
    handle: async (context) => {
      const user = await userToChange(parts, context)
      const document = await parts.exportData(context.view, user)
      await parts.recorder.append([], [userEvent(context, 'DATA_EXPORT', user.id)])
      context.reply.header('cache-control', 'no-store')
      return document
    },
  },
  {
    operationId: 'erase-user',
    method: 'DELETE',
    path: '/users/:userId/gdpr',
    permission: 'realm-admin',
    resourceType: 'users',
    events: ['ADMIN_DELETE', 'USER_ERASED'],
    summary: 'Erases the user and all that could name them; it cannot be undone',
    reply: noContent,
    otherReply: {
      status: 200,
      schema: bodyOf({
        userId: { type: 'string', format: 'uuid' },
        warnings: {
          type: 'array',
          items: { type: 'string' },
          description: 'Of a managed user: the remaining steps.',
        },
      }),
    },
    handle: async (context) => {
      const user = await userToChange(parts, context)
      if (isSelf(context.caller, user.id))
        throw new Problem('conflict', 'you cannot erase yourself here; ask for it at your account')
      const data = {
        statements: await erasureStatements(parts, context.view, user),
        events: [userEvent(context, 'USER_ERASED', user.id)],
      }
      if (user.managed === 1) {
        const recorded = parts.erasedPeople.record(user, parts.clock.now())
        const statements = [...data.statements, ...recorded]
        await deleteManagedUser(parts, context, user, { ...data, statements })
        context.reply.code(200)
        return { userId: user.id, warnings: [stillDeclared] }
      }
      return parts.recorder.commit(
        await parts.lastAdmin.aroundData(
          context.view,
          [user],
          [
            ...parts.sessions.revokeAllOf(user.id),
            ...parts.users.deleteStatements(user.id, parts.clock.now()),
            ...data.statements,
          ],
        ),
        [userEvent(context, 'ADMIN_DELETE', user.id), ...data.events],
      )
    },
  },
]
