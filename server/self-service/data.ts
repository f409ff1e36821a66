/** The rights of a person about their own data (GDPR articles 15, 17 and 20), and the accounts elsewhere that are linked. */

import { invalid, Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Authenticator } from '#server/credentials/authenticator.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { type ErasureParts, erasureStatements } from '#server/realm/erasure.ts'
import type { LastAdmin } from '#server/realm/rules/last-admin.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Ranks } from '#server/users/permissions.ts'
import {
  type DataExport,
  dataExportSchema,
  type ExportData,
} from '#server/users/privacy/data-export.ts'
import type { ErasureRequests } from '#server/users/privacy/erasure-requests.ts'
import type { Users } from '#server/users/users.ts'
import { createProvePassword, passwordType } from './credentials/password.ts'
import { insistOnRecentStrength, insistOnStrength, isRecent } from './credentials/strength.ts'
import { objectOf } from './description.ts'
import type { OwnIdentities } from './identities.ts'
import { nothing, type Operation, withBody } from './operation.ts'
import { type Self, selfEvent } from './self.ts'

export interface OwnDataParts extends ErasureParts {
  readonly exportData: ExportData
  readonly erasureRequests: ErasureRequests
  readonly sessions: Sessions
  readonly users: Users
  readonly recorder: Recorder
  readonly authenticator: Authenticator
  readonly factors: Factors
  readonly clock: Clock
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  readonly lastAdmin: Pick<LastAdmin, 'aroundData'>
  readonly ranks: Pick<Ranks, 'permissionsOf'>
}

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

interface Erasure {
  readonly password?: string
}

const erasureReply = objectOf(
  {
    status: { type: 'string', enum: ['ERASED', 'REQUESTED'] },
    requestedAt: { type: 'integer', description: 'Milliseconds since 1970.' },
  },
  ['status'],
)

const requestPath = '/gdpr/erasure-request'

/** The outcome of a request for erasure. */
export type ErasureAnswer =
  | { readonly status: 'ERASED' }
  | { readonly status: 'REQUESTED'; readonly requestedAt: number }

interface Wish {
  readonly statements: readonly Statement[]
  readonly events: readonly AuditEvent[]
}

const isDeclared = ({ user }: Self): boolean => user.managed === 1

export const createOwnData = (parts: OwnDataParts) => {
  const { exportData, sessions, users, recorder, factors, clock, jobs, lastAdmin } = parts
  const prove = createProvePassword(parts)
  const { erasureRequests: requests } = parts

  /** By the password, or by a sign-in of just now. */
  const confirm = async (self: Self, wish: Wish, password: string | undefined): Promise<void> => {
    if (password !== undefined) {
      const accepted = { ...wish, value: undefined, partial: true }
      return prove(self, password, '/password', () => accepted)
    }
    if (!isRecent(clock, self) && (await factors.has(self.user.id, [passwordType])))
      throw invalid([
        { field: '/password', code: 'required', message: 'is needed: you signed in long ago' },
      ])
    await insistOnRecentStrength(parts, self)
    await recorder.commit(wish.statements, wish.events)
  }

  /** Erases the account; it cannot be undone. */
  const erase = async (self: Self, password?: string): Promise<void> => {
    const { user, issuer } = self
    await insistOnStrength(parts, self)
    if (isDeclared(self))
      throw new Problem(
        'owned',
        'a file declares you: ask for it by POST /account/gdpr/erasure-request',
      )
    const statements = await lastAdmin.aroundData(
      issuer.view,
      [user],
      [
        ...sessions.revokeAllOf(user.id),
        ...users.deleteStatements(user.id, clock.now()),
        ...(await erasureStatements(parts, issuer.view, user)),
      ],
    )
    await confirm(self, { statements, events: [selfEvent(self, 'USER_ERASED')] }, password)
    jobs.wake(logoutQueue)
  }

  return {
    export: async (self: Self): Promise<DataExport> => {
      const document = await exportData(self.issuer.view, self.user)
      await recorder.append([], [selfEvent(self, 'DATA_EXPORT')])
      return document
    },

    erase,

    /** When the user asked to be erased, and still waits for it. */
    requestedAt: ({ user }: Pick<Self, 'user'>) => requests.requestedAt(user.id),

    /** The erasure of a managed user waits for an administrator: the next apply would create the user again. */
    requestErasure: async (self: Self, password?: string): Promise<ErasureAnswer> => {
      if (!isDeclared(self)) {
        await erase(self, password)
        return { status: 'ERASED' }
      }
      await insistOnStrength(parts, self)
      const events = [selfEvent(self, 'ERASURE_REQUESTED')]
      await confirm(self, { statements: [requests.request(self.user)], events }, password)
      const requestedAt = (await requests.requestedAt(self.user.id)) ?? clock.now()
      return { status: 'REQUESTED', requestedAt }
    },

    withdrawRequest: async (self: Self): Promise<void> => {
      await insistOnStrength(parts, self)
      await recorder.commit(
        [requests.withdraw(self.user.id)],
        [selfEvent(self, 'ERASURE_REQUESTED', 'withdrawn')],
      )
    },
  }
}

export type OwnData = ReturnType<typeof createOwnData>

export const dataOperations = (data: OwnData, identities: OwnIdentities): Operation[] => {
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
    withBody<Erasure>(erasureBody, {
      method: 'DELETE',
      path: '/gdpr',
      operationId: 'erase-own-account',
      summary: 'Erases the user and all that could name them; it cannot be undone',
      replies: { 204: nothing },
      refusals: [400, 401, 403, 404, 409, 503],
      events: ['USER_ERASED', 'LOGIN_FAILURE', 'USER_LOCKED'],
      handle: (self, { password }) => data.erase(self, password),
    }),
    withBody<Erasure>(erasureBody, {
      method: 'POST',
      path: requestPath,
      operationId: 'request-own-erasure',
      summary: 'Erases the user or, where a file declares them, asks the administrator to do it',
      replies: { 200: erasureReply },
      refusals: [400, 401, 403, 404, 409, 503],
      events: ['ERASURE_REQUESTED', 'USER_ERASED', 'LOGIN_FAILURE', 'USER_LOCKED'],
      handle: (self, { password }) => data.requestErasure(self, password),
    }),
    {
      method: 'DELETE',
      path: requestPath,
      operationId: 'withdraw-own-erasure-request',
      summary: 'Takes the wish to be erased back',
      replies: { 204: nothing },
      refusals: [401, 403, 404],
      events: ['ERASURE_REQUESTED'],
      handle: data.withdrawRequest,
    },
    {
      method: 'GET',
      path: '/linked-identities',
      operationId: 'list-own-linked-identities',
      summary: 'Accounts elsewhere that the user signs in with',
      replies: { 200: { type: 'array', items: { type: 'object', additionalProperties: true } } },
      refusals: [401, 403, 404],
      handle: identities.records,
    },
  ]
}
