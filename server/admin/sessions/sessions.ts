/** Sessions of people, and the service accounts of clients. */

import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { inSlices } from '#server/storage/statements.ts'
import { type Action, asChecked, bodyOf, noContent } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface SessionParts {
  readonly sessions: Sessions
  readonly recorder: Recorder
  readonly settingsOf: (realm: string) => Promise<SettingsDoc | null>
  readonly jobs: Pick<Jobs, 'wake'>
  readonly storage: Storage
}

const sessionSchema = bodyOf({
  id: { type: 'string', format: 'uuid' },
  userId: { type: 'string', format: 'uuid' },
  username: { type: 'string' },
  ipAddress: { type: 'string' },
  start: { type: 'integer' },
  lastAccess: { type: 'integer' },
  rememberMe: { type: 'boolean' },
  impersonator: {
    type: ['string', 'null'],
    description: 'The administrator who acts as the user, by name.',
  },
  clients: { type: 'object', additionalProperties: { type: 'string' } },
})

const page = bodyOf(
  {
    first: { type: 'integer', minimum: 0, default: 0 },
    max: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
  },
  [],
)

/** The newest event of each client, by a step back in the index of events. */
const lastUses = async (
  { db }: Pick<Storage, 'db'>,
  realm: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const used = new Map<string, number>()
  for (const part of inSlices(ids)) {
    const rows = await db
      .selectFrom('documents')
      .select((eb) => [
        'documents.id',
        eb
          .selectFrom('audit_events')
          .select('audit_events.at')
          .where('audit_events.realm', '=', realm)
          .whereRef('audit_events.actor', '=', 'documents.id')
          .where('audit_events.type', '=', 'CLIENT_LOGIN')
          .where('audit_events.outcome', '=', 'SUCCESS')
          .orderBy('audit_events.id', 'desc')
          .limit(1)
          .as('at'),
      ])
      .where('documents.id', 'in', part)
      .execute()
    for (const { id, at } of rows) if (at !== null) used.set(id, Number(at))
  }
  return used
}

export const sessionActions = ({
  sessions,
  recorder,
  settingsOf,
  jobs,
  storage,
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
      return settings
        ? sessions.list(realm, settings, asChecked<{ first: number; max: number }>(query))
        : []
    },
  },
  {
    operationId: 'list-service-account-sessions',
    method: 'GET',
    path: '/sessions/service-accounts',
    permission: 'view-events',
    resourceType: 'sessions',
    summary: 'Clients with a service account and when each was last used, one row each',
    reply: {
      status: 200,
      schema: {
        type: 'array',
        items: bodyOf({
          id: { type: 'string', format: 'uuid' },
          clientId: { type: 'string' },
          enabled: { type: 'boolean' },
          lastAccess: {
            type: ['integer', 'null'],
            description: 'Time of its last token; null if no event is stored.',
          },
        }),
      },
    },
    handle: async ({ view, realm }) => {
      const accounts = (await view.list(Client.kind)).flatMap((document) => {
        const { clientId, enabled, serviceAccountsEnabled } = contentOf<ClientDoc>(document)
        return serviceAccountsEnabled ? [{ id: document.id, clientId, enabled }] : []
      })
      const used = await lastUses(
        storage,
        realm,
        accounts.map(({ id }) => id),
      )
      return accounts.map((account) => ({ ...account, lastAccess: used.get(account.id) ?? null }))
    },
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
        jobs.wake(logoutQueue)
      } catch (error) {
        if (!(error instanceof GuardFailedError)) throw error
        throw new Problem('not-found', `there is no session "${id}"`)
      }
    },
  },
]
