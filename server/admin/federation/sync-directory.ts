/** POST …/user-federation/{alias}/sync: reads a directory now, or reports what that would change. */

import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { Problem } from '#schemas/problems.ts'
import { DirectoryAway, DirectoryRefused } from '#server/directories/connection/errors.ts'
import { directoryOf, isDirectory } from '#server/directories/directory.ts'
import { SyncRefused } from '#server/directories/sync/errors.ts'
import type { Synchronize } from '#server/directories/sync/sync.ts'
import { doneBy, refuseUnlessDry } from '#server/http/caller.ts'
import type { Vault } from '#server/keys/vault.ts'
import { type Action, asChecked, bodyOf } from '../action.ts'

export interface SyncActionParts {
  readonly sync: Synchronize
  readonly vault: Pick<Vault, 'reveal'>
}

const count = { type: 'integer', minimum: 0 } as const
const value = { anyOf: [{ type: 'string' }, { type: 'boolean' }, { type: 'null' }] } as const

const reply = bodyOf({
  ignored: {
    type: 'boolean',
    description: 'Nothing was done: another sync of the directory runs.',
  },
  added: count,
  updated: count,
  removed: { ...count, description: 'Users who were disabled or deleted.' },
  failed: {
    ...count,
    description: 'Entries that could not become, or stay equal to, a user or group.',
  },
  synced: { ...count, description: 'added and updated.' },
  status: { type: 'string' },
  dryRun: { type: 'boolean' },
  mode: { type: 'string', enum: ['full', 'changes'] },
  groups: bodyOf({ added: count, updated: count, removed: count, joined: count, left: count }),
  failures: {
    type: 'array',
    description: 'The first 1000.',
    items: bodyOf({ name: { type: 'string' }, problem: { type: 'string' } }),
  },
  changes: {
    type: 'array',
    description: 'Of a dry run, the first 1000.',
    items: bodyOf({
      op: { type: 'string', enum: ['add', 'update', 'enable', 'disable', 'delete'] },
      username: { type: 'string' },
      fields: {
        type: 'array',
        items: bodyOf({ field: { type: 'string' }, before: value, after: value }),
      },
    }),
  },
})

const explained = (error: unknown): unknown => {
  if (error instanceof SyncRefused)
    return error.reason === 'guard'
      ? new Problem('removals', error.message, { extra: { users: error.users } })
      : new Problem(
          'unavailable',
          `the directory gave no answer that can be used: ${error.message}`,
        )
  if (error instanceof DirectoryAway || error instanceof DirectoryRefused)
    return new Problem('unavailable', `the directory cannot be read: ${error.message}`)
  return error
}

export const syncDirectory = ({ sync, vault }: SyncActionParts): Action => ({
  operationId: 'sync-directory',
  method: 'POST',
  path: '/user-federation/:alias/sync',
  permission: 'manage-identity-providers',
  resourceType: 'user-federation',
  planning: true,
  events: ['ADMIN_ACTION', 'ADMIN_CREATE', 'ADMIN_UPDATE', 'ADMIN_DELETE'],
  summary: 'Reads the users and groups of a directory, or shows with dryRun what would change',
  query: bodyOf(
    {
      dryRun: { type: 'boolean', default: false, description: 'Changes nothing.' },
      full: {
        type: 'boolean',
        default: false,
        description: 'Reads all entries, also where those that changed would do.',
      },
      allowRemovals: {
        ...count,
        description:
          'How many users, groups or addresses of users may go, instead of maxRemovalPercent and 100.',
      },
    },
    [],
  ),
  reply: { status: 200, schema: reply },
  handle: async ({ view, caller, params, query }) => {
    const { dryRun, full, allowRemovals } = asChecked<{
      dryRun: boolean
      full: boolean
      allowRemovals?: number
    }>(query)
    refuseUnlessDry(caller, dryRun)
    const { alias = '' } = params
    const document = await view.get(IdentityProvider.kind, alias)
    if (!document || !isDirectory(document))
      throw new Problem('not-found', `there is no directory "${alias}"`)
    const directory = directoryOf(document, vault)
    if (!directory.enabled)
      throw new Problem('conflict', `directory "${alias}" is disabled: enable it first`)
    try {
      return await sync({ directory, by: doneBy(caller), dryRun, full, allowRemovals })
    } catch (error) {
      throw explained(error)
    }
  },
})
