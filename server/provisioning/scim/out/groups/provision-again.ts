/** Users whom a target has lost, which a refused change of a group shows: they are provisioned again, and their groups with them. */

import type { Storage } from '#server/storage/contract.ts'
import { waitAfter } from '../retries.ts'
import type { Resources } from '../state/resources.ts'
import type { ScimTargetInUse } from '../target.ts'

export interface ProvisionAgainParts {
  readonly storage: Pick<Storage, 'commit'>
  readonly target: ScimTargetInUse
  readonly resources: Resources
  readonly now: () => number
}

/** A member with the id here and the id at the target. */
export interface Member {
  readonly id: string
  readonly remoteId: string
}

/**
 * At once for a group that has not failed before, and else no sooner than the group is tried again: a target may answer no user by
 * the id.
 */
export const createProvisionAgain =
  ({ storage, target, resources, now }: ProvisionAgainParts) =>
  async ({ id, remoteId }: Member, failures: number): Promise<void> => {
    const [row] = await resources.byIds(target.id, 'user', [id])
    if (row?.remote_id !== remoteId) return
    const due_at = failures === 0 ? 0 : now() + waitAfter(failures)
    await storage.commit([
      ...resources.mark(target.id, 'user', [id]),
      resources.change(row, { remote_id: null, present: 0, due_at }),
    ])
  }

export type ProvisionAgain = ReturnType<typeof createProvisionAgain>
