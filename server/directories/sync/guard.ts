/** Stops a sync that would remove more users or groups than a directory loses by itself. */

import type { Directory } from '../directory.ts'
import { SyncRefused } from './errors.ts'
import type { PlannedUser } from './users/planned-user.ts'

/** However large the directory is. */
const mostRemovals = 100
const mostNamed = 20

/** How many of all may go. One of a few is a large share of them, and no accident. */
const limitOf = (
  { maxRemovalPercent }: Directory,
  all: number,
  allowed: number | undefined,
): number => {
  if (allowed !== undefined) return allowed
  if (maxRemovalPercent === 0) return 0
  return Math.min(Math.max(1, Math.floor((all * maxRemovalPercent) / 100)), mostRemovals)
}

const refusal = (
  { alias }: Directory,
  what: string,
  { removed, limit }: { readonly removed: number; readonly limit: number },
  users: readonly string[] = [],
): SyncRefused => {
  const more = removed > users.length ? ', …' : ''
  const names = users.length > 0 ? `: ${users.join(', ')}${more}` : ''
  return new SyncRefused(
    'guard',
    `the sync of "${alias}" would ${what}, and ${limit} are allowed; nothing was changed. If it is right, allow ${removed} removals${names}`,
    users,
  )
}

export const guardRemovals = (
  directory: Directory,
  changes: readonly PlannedUser[],
  linked: number,
  allowed: number | undefined,
): void => {
  const out = changes.filter(({ op }) => op === 'disable' || op === 'delete')
  const removed = out.length
  const limit = limitOf(directory, linked, allowed)
  if (removed <= limit) return
  const disabled = out.filter(({ op }) => op === 'disable').length
  throw refusal(
    directory,
    `disable ${disabled} and delete ${removed - disabled} of ${linked} users`,
    { removed, limit },
    out.slice(0, mostNamed).map(({ username }) => username),
  )
}

/** An attribute that the bind user may no longer read is answered as one without a value. */
export const guardAddresses = (
  directory: Directory,
  changes: readonly PlannedUser[],
  linked: number,
  allowed: number | undefined,
): void => {
  const bare = changes.filter(({ before, after }) => before?.email && after?.email === null)
  const removed = bare.length
  const limit = limitOf(directory, linked, allowed)
  if (removed <= limit) return
  throw refusal(
    directory,
    `remove the addresses of ${removed} of ${linked} users (see emailAttribute, and what the bind user may read)`,
    { removed, limit },
    bare.slice(0, mostNamed).map(({ username }) => username),
  )
}

/** `gone`: names of groups whose entries are gone. */
export const guardGroups = (
  directory: Directory,
  gone: readonly string[],
  all: number,
  allowed: number | undefined,
): void => {
  const removed = gone.length
  const limit = limitOf(directory, all, allowed)
  if (removed <= limit) return
  const names = gone.slice(0, mostNamed).join(', ')
  throw refusal(directory, `delete ${removed} of ${all} groups (${names})`, { removed, limit })
}

/** Of a directory whose groups are all empty. */
export const guardMemberships = (
  directory: Directory,
  removed: number,
  allowed: number | undefined,
): void => {
  const limit = limitOf(directory, removed, allowed)
  if (removed <= limit) return
  throw refusal(
    directory,
    `end all ${removed} memberships in groups, because no group lists a user (see membershipAttribute, and what the bind user may read)`,
    { removed, limit },
  )
}
