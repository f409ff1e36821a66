/** The rights of a person about their own data (GDPR articles 15, 17 and 20), and the accounts elsewhere that are linked. */

import { invalid, Problem } from '#schemas/problems.ts'
import { type DataExport, dataExportSchema } from '#server/accounts/data-export.ts'
import { erasureStatements } from '#server/accounts/erasure.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import { bodyReader, objectOf } from './description.ts'
import { nothing, type Operation } from './operation.ts'
import type { AccountParts } from './parts.ts'
import { createProvePassword, passwordType } from './password.ts'
import { type Self, selfEvent } from './self.ts'
import { insistOnRecentStrength, insistOnStrength, isRecent } from './strength.ts'

export type OwnDataParts = Pick<
  AccountParts,
  | 'exportData'
  | 'personalKeys'
  | 'storage'
  | 'sessions'
  | 'users'
  | 'recorder'
  | 'authenticator'
  | 'factors'
  | 'clock'
  | 'jobs'
>

const erasureBody = objectOf(
  {
    password: {
      type: 'string',
      minLength: 1,
      maxLength: 4096,
      description: 'Needed unless the sign-in is recent.',
    },
  },
  [],
)

export const createOwnData = (parts: OwnDataParts) => {
  const { exportData, sessions, users, recorder, factors, clock, jobs } = parts
  const prove = createProvePassword(parts)

  return {
    export: async (self: Self): Promise<DataExport> => {
      const document = await exportData(self.issuer.view, self.user)
      await recorder.append([], [selfEvent(self, 'DATA_EXPORT')])
      return document
    },

    /** By the password, or by a sign-in of just now; for good. */
    erase: async (self: Self, password?: string): Promise<void> => {
      const { user } = self
      await insistOnStrength(factors, self)
      if (user.managed === 1)
        throw new Problem('owned', 'a file declares you: ask your administrator to erase you')
      const erasure = {
        statements: [
          ...sessions.revokeAllOf(user.id),
          ...users.deleteStatements(user.id),
          ...erasureStatements(parts, user),
        ],
        events: [selfEvent(self, 'USER_ERASED')],
      }
      if (password !== undefined)
        await prove(self, password, '/password', () => ({ ...erasure, value: undefined }))
      else {
        if (!isRecent(clock, self) && (await factors.has(user.id, [passwordType])))
          throw invalid([
            { field: '/password', code: 'required', message: 'is needed: you signed in long ago' },
          ])
        await insistOnRecentStrength(parts, self)
        await recorder.commit(erasure.statements, erasure.events)
      }
      jobs.wake(logoutQueue)
    },
  }
}

export const dataOperations = (parts: OwnDataParts): Operation[] => {
  const data = createOwnData(parts)
  const read = bodyReader<{ readonly password?: string }>(erasureBody)
  return [
    {
      method: 'GET',
      path: '/gdpr/export',
      operationId: 'export-own-data',
      summary: 'Everything that is held about the user',
      replies: { 200: dataExportSchema },
      refusals: [401, 403, 404],
      events: ['DATA_EXPORT'],
      fileName: 'my-data.json',
      handle: data.export,
    },
    {
      method: 'DELETE',
      path: '/gdpr',
      operationId: 'erase-own-account',
      summary: 'Erases the user and all that could name them; it cannot be undone',
      body: erasureBody,
      replies: { 204: nothing },
      refusals: [400, 401, 403, 404, 409, 503],
      events: ['USER_ERASED', 'LOGIN_FAILURE', 'USER_LOCKED'],
      handle: (self, request) => data.erase(self, read(request).password),
    },
    {
      method: 'GET',
      path: '/linked-identities',
      operationId: 'list-own-linked-identities',
      summary: 'Accounts elsewhere that the user signs in with',
      replies: { 200: { type: 'array', items: { type: 'object', additionalProperties: true } } },
      refusals: [401, 403, 404],
      // Nobody is linked before there are providers to link with.
      handle: async () => [],
    },
  ]
}
