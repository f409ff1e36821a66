/**
 * Keeps back removals that look like an accident: a filter with a mistake in it, a pruned file, a directory that answered half. The
 * limits are those of a directory sync; a few are always allowed, because leavers of a small team are no accident.
 */

import type { ScimResourceRow, ScimTargetRow } from '#server/storage/tables/scim-tables.ts'
import type { Resources } from './state/resources.ts'
import type { ScimTargetInUse } from './target.ts'
import { isRemoval, type WantedParts, wantedOf } from './wanted.ts'

const share = 0.1
const always = 10
const most = 100
const pageSize = 500

export const removalLimit = (known: number, allowed: number | null): number =>
  allowed ?? Math.min(Math.max(always, Math.floor(known * share)), most)

/** Removals that wait, with the rows of them. */
const waitingRemovals = async (
  parts: WantedParts,
  resources: Resources,
  target: ScimTargetInUse,
): Promise<ScimResourceRow[]> => {
  const removals: ScimResourceRow[] = []
  let after = ''
  for (;;) {
    const page = await resources.changedAfter(target.id, 'user', after, pageSize)
    const known = page.filter(({ remote_id, present }) => remote_id !== null && present === 1)
    const wanted = await wantedOf(
      parts,
      known.map(({ local_id }) => local_id),
    )
    for (const row of known) {
      const one = wanted.get(row.local_id)
      if (one && isRemoval(row, one)) removals.push(row)
    }
    const last = page.at(-1)
    if (!last || page.length < pageSize) return removals
    after = last.local_id
  }
}

/** A run's share of removals: how many it may send, and those that it must keep back. */
export interface Allowance {
  readonly limit: number
  readonly held: readonly ScimResourceRow[]
}

export const allowanceOf = async (
  parts: WantedParts,
  resources: Resources,
  { removals_allowed }: ScimTargetRow,
): Promise<Allowance> => {
  const { target } = parts
  const waiting = await waitingRemovals(parts, resources, target)
  // Counting all that a target has is for the few runs that need the share.
  const known = waiting.length > always ? (await resources.figures(target.id)).users.known : 0
  const limit = removalLimit(known, removals_allowed)
  return { limit, held: waiting.length > limit ? waiting : [] }
}

export const heldReason = (held: number, limit: number, name: string): string =>
  `${held} users would be deactivated or deleted at the target, and ${limit} are allowed at once; they are kept back. If it is right, run \`iamctl scim reconcile ${name} --allow-removals ${held}\``
