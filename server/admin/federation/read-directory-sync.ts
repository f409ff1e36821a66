/**
 * GET …/user-federation/{alias}/sync: whether a sync of the directory runs, its progress, and the outcome of the last one.
 */

import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { Problem } from '#schemas/problems.ts'
import type { SyncStanding } from '#schemas/wire/directory-sync.ts'
import { isDirectory } from '#server/directories/directory.ts'
import { type Action, bodyOf } from '../action.ts'

export interface ReadSyncParts {
  readonly standingOf: (provider: string) => Promise<SyncStanding>
}

const nullable = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })
const count = { type: 'integer', minimum: 0 } as const

export const readDirectorySync = ({ standingOf }: ReadSyncParts): Action => ({
  operationId: 'read-directory-sync',
  method: 'GET',
  path: '/user-federation/:alias/sync',
  permission: 'manage-identity-providers',
  resourceType: 'user-federation',
  planning: true,
  summary:
    'Tells whether a sync of a directory runs and how far it is, and the outcome of the last one',
  reply: {
    status: 200,
    schema: bodyOf({
      running: { type: 'boolean' },
      progress: nullable(
        bodyOf({
          phase: { type: 'string', enum: ['read', 'write'] },
          done: { ...count, description: 'Entries read, or users written.' },
          total: nullable(count),
        }),
      ),
      finishedAt: nullable({ type: 'integer' }),
      outcome: nullable({ type: 'string' }),
    }),
  },
  handle: async ({ view, params: { alias = '' } }) => {
    const document = await view.get(IdentityProvider.kind, alias)
    if (!document || !isDirectory(document))
      throw new Problem('not-found', `there is no directory "${alias}"`)
    return standingOf(document.id)
  },
})
