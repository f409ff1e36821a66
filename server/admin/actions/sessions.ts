/** Sessions of people, and the service accounts of clients. */

import { Client, type ClientDoc } from '#schemas/kinds/client.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/events/audit.ts'
import type { LogoutDeliveries } from '#server/oidc/logout-deliveries.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { type Action, bodyOf, noContent } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface SessionParts {
  readonly sessions: Sessions
  readonly recorder: Recorder
  readonly settingsOf: (realm: string) => Promise<SettingsDoc | null>
  readonly logouts: Pick<LogoutDeliveries, 'kick'>
}

const sessionSchema = bodyOf({
  id: { type: 'string', format: 'uuid' },
  userId: { type: 'string', format: 'uuid' },
  username: { type: 'string' },
  ipAddress: { type: 'string' },
  start: { type: 'integer' },
  lastAccess: { type: 'integer' },
  rememberMe: { type: 'boolean' },
  clients: { type: 'object', additionalProperties: { type: 'string' } },
})

const page = bodyOf(
  {
    first: { type: 'integer', minimum: 0, default: 0 },
    max: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
  },
  [],
)

export const sessionActions = ({
  sessions,
  recorder,
  settingsOf,
  logouts,
}: SessionParts): Action[] => [
  {
    operationId: 'list-sessions',
    method: 'GET',
    path: '/sessions',
    permission: 'view-events',
    resourceType: 'sessions',
    summary: 'Active sessions, last used first',
    query: page,
    reply: { status: 200, schema: { type: 'array', items: sessionSchema } },
    handle: async ({ realm, query }) => {
      const settings = await settingsOf(realm)
      return settings ? sessions.list(realm, settings, query as { first: number; max: number }) : []
    },
  },
  {
    operationId: 'list-service-account-sessions',
    method: 'GET',
    path: '/sessions/service-accounts',
    permission: 'view-events',
    resourceType: 'sessions',
    summary: 'Clients with a service account, one row each',
    reply: {
      status: 200,
      schema: {
        type: 'array',
        items: bodyOf({
          id: { type: 'string', format: 'uuid' },
          clientId: { type: 'string' },
          enabled: { type: 'boolean' },
        }),
      },
    },
    handle: async ({ view }) =>
      (await view.list(Client.kind)).flatMap((document) => {
        const { clientId, enabled, serviceAccountsEnabled } = contentOf<ClientDoc>(document)
        return serviceAccountsEnabled ? [{ id: document.id, clientId, enabled }] : []
      }),
  },
  {
    operationId: 'revoke-session',
    method: 'DELETE',
    path: '/sessions/:id',
    permission: 'manage-events',
    resourceType: 'sessions',
    summary: 'Ends a session at once',
    reply: noContent,
    handle: async (context) => {
      const { realm, params } = context
      const id = params['id'] ?? ''
      try {
        await recorder.commit(sessions.revokeStatements(realm, id), [
          actionEvent(context, 'ADMIN_DELETE', { type: 'sessions', id }),
        ])
        logouts.kick()
      } catch (error) {
        if (!(error instanceof GuardFailedError)) throw error
        throw new Problem('not-found', `there is no session "${id}"`)
      }
    },
  },
]
