/** The sessions of the signed-in user: list and end. */

import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import type { OwnSessionRecord, Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { objectOf } from './description.ts'
import { nothing, type Operation } from './operation.ts'
import { type Self, selfEvent } from './self.ts'

export interface OwnSessionsParts {
  readonly sessions: Sessions
  readonly recorder: Recorder
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
}

const time = { type: 'integer', description: 'Milliseconds since 1970.' }
const session = objectOf({
  id: { type: 'string', format: 'uuid' },
  ipAddress: { type: 'string' },
  userAgent: { type: ['string', 'null'] },
  start: time,
  lastAccess: time,
  rememberMe: { type: 'boolean' },
  clients: { type: 'array', items: { type: 'string' }, description: 'Their clientIds.' },
  current: { type: 'boolean', description: 'Whether the request comes from it.' },
  impersonated: { type: 'boolean', description: 'Whether an administrator acts as the user.' },
  impersonator: { type: ['string', 'null'], description: 'That administrator, by name.' },
})

export interface ListedSession extends Omit<OwnSessionRecord, 'userId' | 'username' | 'clients'> {
  readonly clients: readonly string[]
  readonly current: boolean
}

export const createOwnSessions = ({ sessions, recorder, jobs }: OwnSessionsParts) => {
  const list = async ({ issuer, user, sid }: Self): Promise<ListedSession[]> => {
    const all = await sessions.listOf(issuer.name, issuer.settings, user.id)
    return all.map(({ userId: _id, username: _name, clients, ...record }) => ({
      ...record,
      clients: Object.values(clients),
      current: record.id === sid,
    }))
  }

  return {
    list,

    end: async (self: Self, id: string): Promise<void> => {
      const missing = new Problem('not-found', 'you have no such session')
      if (!(await list(self)).some((one) => one.id === id)) throw missing
      try {
        await recorder.commit(sessions.revokeStatements(self.issuer.name, id), [
          selfEvent(self, 'LOGOUT', 'session'),
        ])
      } catch (error) {
        if (error instanceof GuardFailedError) throw missing
        throw error
      }
      jobs.wake(logoutQueue)
    },

    /** All but the one that asks, with everything that was issued in them. */
    endOthers: async (self: Self): Promise<void> => {
      await recorder.commit(sessions.revokeOthersOf(self.user.id, self.sid), [
        selfEvent(self, 'LOGOUT', 'other-sessions'),
      ])
      jobs.wake(logoutQueue)
    },
  }
}

export type OwnSessions = ReturnType<typeof createOwnSessions>

export const sessionOperations = (own: OwnSessions): Operation[] => {
  const path = '/sessions'
  const common = { replies: { 204: nothing }, events: ['LOGOUT'] } as const
  return [
    {
      method: 'GET',
      path,
      operationId: 'list-own-sessions',
      summary: 'Where the user is signed in, last used first',
      replies: { 200: { type: 'array', items: session } },
      refusals: [401, 403, 404],
      handle: own.list,
    },
    {
      ...common,
      method: 'DELETE',
      path,
      operationId: 'end-own-other-sessions',
      summary: 'Signs the user out everywhere else',
      refusals: [401, 403, 404],
      handle: own.endOthers,
    },
    {
      ...common,
      method: 'DELETE',
      path: `${path}/:id`,
      operationId: 'end-own-session',
      summary: 'Signs the user out of one session',
      refusals: [401, 403, 404],
      handle: (self, { params }) => own.end(self, params.id),
    },
  ]
}
