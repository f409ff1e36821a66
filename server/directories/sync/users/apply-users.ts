/**
 * Writes what was planned for users, in parts that are each one transaction: a node that dies leaves whole users behind, and the
 * next sync finds them as they are. A part with a user who cannot be written is divided, until that one user is left, or users
 * who exchange names.
 */

import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { endSessionsOf } from '#server/sessions/endings.ts'
import {
  ConstraintError,
  GuardFailedError,
  type Statement,
  type Storage,
} from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { endGrantsOfUsers } from '#server/tokens/grants/grant-endings.ts'
import type { Links } from '#server/users/links/links.ts'
import { assignDefaultRole } from '#server/users/memberships.ts'
import { deleteUsers } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import type { Directory } from '../../directory.ts'
import { linkIssuer } from '../../linked-user.ts'
import { countsOf, noUsers, sumOf, type UserCounts } from '../report.ts'
import { deleteAbsences, insertAbsences } from '../sync-state.ts'
import type { PlannedUser } from './planned-user.ts'

export interface ApplyParts {
  readonly storage: Pick<Storage, 'db'>
  readonly recorder: Recorder
  readonly users: Users
  readonly links: Links
  /** Keeps an administrator of the master realm. */
  readonly around: (
    out: readonly UserRow[],
    statements: readonly Statement[],
  ) => Promise<readonly Statement[]>
}

export interface ApplyInput {
  readonly directory: Directory
  readonly defaultRole: string
  readonly by: Pick<AuditEvent, 'actor' | 'sourceIp' | 'onBehalfOf'>
  readonly now: number
  /** First of each transaction: the sync is still this node's. */
  readonly hold: () => Statement
  readonly progress: (done: number) => void
  /** A user was made for the entry. */
  readonly added: (subject: string, userId: string) => void
}

/** A planned change that was not made. */
export interface NotApplied {
  readonly change: PlannedUser
  readonly problem: string
}

export interface Applied {
  readonly counts: UserCounts
  readonly failed: readonly NotApplied[]
}

const partSize = 250

const eventTypes = {
  add: 'ADMIN_CREATE',
  update: 'ADMIN_UPDATE',
  enable: 'ADMIN_UPDATE',
  disable: 'ADMIN_UPDATE',
  delete: 'ADMIN_DELETE',
} as const

const eventOf = ({ directory, by }: ApplyInput, change: PlannedUser): AuditEvent => ({
  type: eventTypes[change.op],
  realm: directory.realm,
  ...by,
  outcome: 'SUCCESS',
  resourceType: 'users',
  resourceId: (change.after ?? change.before)?.id ?? '',
  detail:
    `directory ${directory.alias}: ${change.op}${change.op === 'add' ? '' : ` ${change.fields.map(({ field }) => field).join(', ')}`}`.trim(),
})

/** Why a change cannot be made, where others can: a concurrent write, or the last administrator of the master realm. */
const problemIn = (error: unknown): string | undefined => {
  if (error instanceof Problem) return error.message
  const isConcurrent =
    error instanceof ConstraintError ||
    (error instanceof GuardFailedError && error.guard !== 'directory-lease')
  return isConcurrent ? 'it was changed here at the same time' : undefined
}

/** Tells of the users that the changes make. */
const tellAdded = ({ added }: Pick<ApplyInput, 'added'>, changes: readonly PlannedUser[]): void => {
  for (const { op, subject, after } of changes) if (op === 'add' && after) added(subject, after.id)
}

/** As if all had been written, for a dry run. */
export const pretendToApply = (
  input: Pick<ApplyInput, 'added'>,
  changes: readonly PlannedUser[],
): Applied => {
  tellAdded(input, changes)
  return { counts: countsOf(changes), failed: [] }
}

/** Where changes can be divided, at a place or as near to it as those allow that belong together; nowhere where all do. */
const cutOf = (changes: readonly PlannedUser[], place: number): number | undefined => {
  const isCut = (at: number): boolean => {
    const [before, after] = [changes[at - 1], changes[at]]
    if (!before || !after) return false
    return after.together === undefined || before.together !== after.together
  }
  for (let off = 0; off < changes.length; off += 1) {
    if (isCut(place - off)) return place - off
    if (isCut(place + off)) return place + off
  }
  return undefined
}

/** Takes the changes out of the list: what is written needs no memory while the rest is. */
export const applyUsers = async (
  parts: ApplyParts,
  input: ApplyInput,
  changes: PlannedUser[],
): Promise<Applied> => {
  const { storage, recorder, users, links } = parts
  const { directory, now } = input
  let counts = noUsers
  let done = 0
  const failed: NotApplied[] = []

  /** As when an administrator disables or deletes users: a user who comes back signs in anew. */
  const endAccess = (userIds: readonly string[]): Statement[] =>
    userIds.length === 0
      ? []
      : [...endSessionsOf(storage.db, userIds, now), endGrantsOfUsers(storage, userIds)]

  const statementsOf = (part: readonly PlannedUser[]): Statement[] => {
    const removed = part.flatMap(({ before, after }) => (before && !after ? [before.id] : []))
    const disabled = part.flatMap(({ before, after }) =>
      before?.enabled === 1 && after?.enabled === 0 ? [before.id] : [],
    )
    const saved = part.flatMap(({ before, after }) => (after ? [{ before, after }] : []))
    const made = part.flatMap(({ op, after, subject }) =>
      after && op === 'add' ? [{ after, subject }] : [],
    )
    const absent = part.flatMap(({ after, absence }) =>
      after && absence !== undefined && absence !== 'over'
        ? [{ user_id: after.id, provider: directory.id, cause: absence, since: now }]
        : [],
    )
    const noLongerSo = part.flatMap(({ before, absence }) =>
      before && absence !== undefined ? [before.id] : [],
    )
    return [
      ...endAccess(removed),
      ...deleteUsers(storage, removed, now),
      ...users.saveStatements(saved),
      ...endAccess(disabled),
      ...assignDefaultRole(
        storage,
        made.map(({ after }) => after.id),
        { realm: directory.realm, role: input.defaultRole },
      ),
      ...links.link(
        directory,
        made.map(({ after: { id, username }, subject }) => ({
          issuer: linkIssuer,
          subject,
          username,
          userId: id,
        })),
      ),
      ...deleteAbsences(storage, noLongerSo),
      ...insertAbsences(storage, absent),
    ]
  }

  const commit = async (part: readonly PlannedUser[]): Promise<void> => {
    const out = part.flatMap(({ before, after }) =>
      before && after?.enabled !== 1 ? [before] : [],
    )
    const statements = await parts.around(out, statementsOf(part))
    await recorder.commit(
      [input.hold(), ...statements],
      part.map((change) => eventOf(input, change)),
    )
    tellAdded(input, part)
    counts = sumOf(counts, countsOf(part))
    done += part.length
    input.progress(done + failed.length)
  }

  const attempt = async (part: readonly PlannedUser[]): Promise<void> => {
    try {
      await commit(part)
    } catch (error) {
      const problem = problemIn(error)
      if (problem === undefined) throw error
      const middle = cutOf(part, Math.ceil(part.length / 2))
      if (middle === undefined) failed.push(...part.map((change) => ({ change, problem })))
      else {
        await attempt(part.slice(0, middle))
        await attempt(part.slice(middle))
      }
    }
  }

  while (changes.length > 0)
    await attempt(changes.splice(0, cutOf(changes, partSize) ?? changes.length))
  return { counts, failed }
}
