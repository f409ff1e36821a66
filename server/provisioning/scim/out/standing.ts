/** The status of a target, for callers on any node. */

import type { ScimStanding } from '#schemas/wire/scim-targets.ts'
import { nextAttemptAt } from '#server/jobs/lane.ts'
import type { Storage } from '#server/storage/contract.ts'
import { usersByIds } from '#server/users/user-rows.ts'
import { scimQueue } from './run.ts'
import type { Resources } from './state/resources.ts'
import type { Standings } from './state/standings.ts'
import type { ScimTargetInUse } from './target.ts'

const mostListed = 100

export const createStandingOf =
  ({
    storage,
    resources,
    standings,
  }: {
    readonly storage: Pick<Storage, 'db'>
    readonly resources: Resources
    readonly standings: Standings
  }) =>
  async ({ id, doc }: ScimTargetInUse): Promise<ScimStanding> => {
    const standing = await standings.read(id)
    const figures = await resources.figures(id)
    const failures = await resources.failed(id, mostListed)
    const users = await usersByIds(
      storage,
      failures.map(({ local_id }) => local_id),
    )
    const names = new Map(users.map(({ id: userId, username }) => [userId, username]))
    return {
      enabled: doc.enabled,
      ...figures,
      held: standing?.held ?? 0,
      lastSyncAt: standing?.synced_at ?? null,
      lastError: standing?.error ?? null,
      nextAttemptAt: (await nextAttemptAt(storage, { queue: scimQueue, target: id })) ?? null,
      failures: failures.map(({ kind, local_id, error }) => ({
        kind,
        id: local_id,
        name: names.get(local_id) ?? local_id,
        problem: error ?? 'it failed',
      })),
    }
  }
