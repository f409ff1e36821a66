/**
 * Sends the users of a target that have changed, in parts: several requests at once, and one transaction for what came of them. A
 * user who cannot be sent waits for a while and holds up no other; a target that cannot be reached ends the run.
 */

import type { Statement, Storage } from '#server/storage/contract.ts'
import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'
import { userGroupsOf } from '#server/users/memberships.ts'
import { createLeaveGroups } from './groups/leave-groups.ts'
import type { ScimClient } from './protocol/client.ts'
import { createFaults, failed, settled } from './retries.ts'
import type { Done, SendUser, Sent } from './send-user.ts'
import type { SentMembers } from './state/members.ts'
import type { Resources } from './state/resources.ts'
import type { ScimTargetInUse } from './target.ts'
import { isRemoval, type Wanted, type WantedParts, wantedOf } from './wanted.ts'

export interface SendUsersParts extends WantedParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly target: ScimTargetInUse
  readonly client: ScimClient
  readonly resources: Resources
  readonly members: SentMembers
  readonly send: SendUser
  readonly now: () => number
  readonly count: (done: Done | 'failed') => void
  readonly signal: AbortSignal
}

const atOnce = 8
const minute = 60_000
/** Kept back by the guard; looked at again after that. */
const heldMs = 60 * minute

/** Runs the work of each, some at a time, until one says that there is no point in going on. */
const eachAtOnce = async <T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<boolean>,
): Promise<void> => {
  const queue = [...items]
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift())
      if (!(await work(item))) queue.length = 0
  }
  await Promise.all(Array.from({ length: most }, worker))
}

/** What the guard allows a run. */
export interface Removals {
  readonly areHeld: boolean
  left: number
}

export interface SentPart {
  /** Removals that were kept back. */
  readonly held: number
  /** More removals came during the run than were allowed at its start: the guard is to be asked again. */
  readonly isUsedUp: boolean
}

/** A user who was sent before and has another account now, which is in no group yet: the target lost the former one. */
const isOtherAccount = ({ done }: ScimResourceRow, { change }: Sent): boolean =>
  done > 0 && change !== 'forget' && change.remote_id !== undefined

export const createSendUsers = (parts: SendUsersParts) => {
  const { storage, target, resources, members, send, now, count, signal } = parts
  const faults = createFaults()
  const leaveGroups = createLeaveGroups(parts)

  /** Remembered before anything is created: whose answer may get lost. */
  const announce = async (
    rows: readonly ScimResourceRow[],
    wanted: ReadonlyMap<string, Wanted>,
  ): Promise<void> => {
    const fresh = rows.filter(
      (row) =>
        row.remote_id === null &&
        row.attempted === 0 &&
        wanted.get(row.local_id)?.kind === 'present',
    )
    if (fresh.length > 0)
      await storage.commit(fresh.map((row) => resources.change(row, { attempted: 1 })))
  }

  /** Groups in which the target has other memberships of these users than there are here. */
  const staleGroups = async (ids: readonly string[]): Promise<string[]> => {
    if (!target.sendsGroups) return []
    const rows = await resources.byIds(target.id, 'user', ids)
    const present = new Set(
      rows.filter((row) => row.remote_id !== null && row.present === 1).map((row) => row.local_id),
    )
    const pair = (one: { group_id: string; user_id: string }) => `${one.group_id} ${one.user_id}`
    const here = (await userGroupsOf(storage, ids)).filter((one) => present.has(one.user_id))
    const there = await members.ofUsers(target.id, ids)
    const [inHere, inThere] = [new Set(here.map(pair)), new Set(there.map(pair))]
    const stale = [
      ...here.filter((one) => !inThere.has(pair(one))),
      ...there.filter((one) => !inHere.has(pair(one))),
    ]
    return [...new Set(stale.map(({ group_id }) => group_id))]
  }

  return async (rows: readonly ScimResourceRow[], removals: Removals): Promise<SentPart> => {
    const ids = rows.map(({ local_id }) => local_id)
    const wanted = await wantedOf(parts, ids)
    await announce(rows, wanted)
    const statements: Statement[] = []
    let held = 0
    let lost: unknown
    await eachAtOnce(rows, atOnce, async (row) => {
      const one = wanted.get(row.local_id)
      if (!one || signal.aborted) return false
      if (isRemoval(row, one)) {
        if (removals.areHeld) {
          held += 1
          statements.push(resources.change(row, { due_at: now() + heldMs }))
          return true
        }
        removals.left -= 1
        if (removals.left < 0) return true
      }
      try {
        const sent = await send(row, one)
        const isForgotten = sent.change === 'forget'
        const leaving = isForgotten && sent.done !== 'deleted' ? await leaveGroups(row) : []
        faults.none()
        count(sent.done)
        statements.push(settled(resources, row, sent.change), ...leaving)
        if (isForgotten || isOtherAccount(row, sent))
          statements.push(members.forgetUser(target.id, row.local_id))
        return true
      } catch (error) {
        if (signal.aborted) return false
        count('failed')
        statements.push(failed(resources, row, error, now()))
        if (!faults.isTooMany(error)) return true
        lost = error
        return false
      }
    })
    if (statements.length > 0) await storage.commit(statements)
    const stale = await staleGroups(ids)
    if (stale.length > 0) await storage.commit(resources.mark(target.id, 'group', stale))
    if (lost !== undefined) throw lost
    signal.throwIfAborted()
    return { held, isUsedUp: removals.left < 0 }
  }
}
