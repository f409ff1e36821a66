/**
 * What a sync would do with users: compares the entries of a directory with the users who are linked to them. Pure; nothing is
 * written, so that the guard sees all of it first.
 */

import type { FieldChange, SyncFailure, UserChange } from '#schemas/wire/directory-sync.ts'
import type { FederatedLinkRow } from '#server/storage/tables/broker-tables.ts'
import type { DirectoryAbsenceRow } from '#server/storage/tables/directory-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { nameOf } from '#server/users/names.ts'
import { changedUserRow, newUserRow } from '#server/users/user-record.ts'
import type { Directory } from '../directory.ts'
import type { Person } from '../entries/person.ts'
import { isLike, profileAfter, profileOf } from '../linked-user.ts'
import type { ReadUsers } from './read-users.ts'

export interface PlannedUser extends UserChange {
  readonly before: UserRow | undefined
  /** Undefined where the user is deleted. */
  readonly after: UserRow | undefined
  /** Of a new user: the entry. */
  readonly person?: Person
  /** The user is disabled by this, or enabled again after an earlier sync had disabled them. */
  readonly absence?: DirectoryAbsenceRow['cause'] | 'over'
}

export interface UserPlan {
  readonly changes: readonly PlannedUser[]
  readonly failures: readonly SyncFailure[]
}

export interface Linked {
  readonly link: FederatedLinkRow
  readonly user: UserRow
}

export interface PlanInput {
  readonly directory: Directory
  readonly read: ReadUsers
  /** By subject. */
  readonly linked: ReadonlyMap<string, Linked>
  readonly absences: ReadonlyMap<string, DirectoryAbsenceRow>
  /** The users who have a name that an entry asks for, by folded name. */
  readonly owners: ReadonlyMap<string, string>
  readonly newId: () => string
  readonly now: number
}

const shown = [
  ['username', 'username'],
  ['email', 'email'],
  ['first_name', 'firstName'],
  ['last_name', 'lastName'],
] as const

const fieldsOf = (before: UserRow | undefined, after: UserRow): FieldChange[] => {
  const texts = shown.flatMap(([column, field]) => {
    const [old, now] = [before?.[column] ?? null, after[column]]
    return old === now ? [] : [{ field, before: old, after: now }]
  })
  const flags = (
    [
      ['email_verified', 'emailVerified'],
      ['enabled', 'enabled'],
    ] as const
  ).flatMap(([column, field]) => {
    const old = before === undefined ? null : before[column] === 1
    const now = after[column] === 1
    return old === now || (old === null && !now) ? [] : [{ field, before: old, after: now }]
  })
  return [...texts, ...flags]
}

export const planUsers = (input: PlanInput): UserPlan => {
  const { directory, read, linked, absences, owners, now } = input
  const changes: PlannedUser[] = []
  const failures: SyncFailure[] = read.noPeople.map(({ dn, problem }) => ({ name: dn, problem }))
  const present = new Set(read.subjects.values())
  const gone = [...linked.values()].filter(({ link }) => !present.has(link.subject))
  const isDeleted = new Set(
    directory.onMissing === 'delete'
      ? gone.filter(({ user }) => user.managed === 0).map(({ user }) => user.id)
      : [],
  )
  const goneIds = new Set(gone.map(({ user }) => user.id))
  /** Names that a user of this plan gives up or takes. */
  const taken = new Map<string, string>()

  const problemWith = (names: readonly (string | null)[], self: string): string | undefined => {
    for (const name of names) {
      if (name === null) continue
      const owner = taken.get(name) ?? owners.get(name)
      if (owner === undefined || owner === self || isDeleted.has(owner)) continue
      return goneIds.has(owner)
        ? 'an entry with a new id has the name of a user whose entry is gone: it is another person; delete or rename that user first'
        : 'another user has the name or the address already'
    }
    for (const name of names) if (name !== null) taken.set(name, self)
    return undefined
  }

  const attempt = (name: string, plan: () => PlannedUser | undefined): void => {
    try {
      const change = plan()
      if (change) changes.push(change)
    } catch (error) {
      failures.push({ name, problem: error instanceof Error ? error.message : 'cannot be stored' })
    }
  }

  const fail = (problem: string): never => {
    throw new Error(problem)
  }

  const added = (person: Person): PlannedUser => {
    const { username, enabled } = person
    const fields = { username, enabled, ...profileOf(directory, person) }
    const after = newUserRow(fields, { id: input.newId(), realm: directory.realm, now })
    const problem = problemWith([after.username_key, after.email_key], after.id)
    if (problem !== undefined) fail(problem)
    return {
      op: 'add',
      username,
      fields: fieldsOf(undefined, after),
      before: undefined,
      after,
      person,
      ...(enabled ? {} : { absence: 'disabled' }),
    }
  }

  /** The directory disables users, and enables those whom it, or their absence, had disabled: never a user disabled here. */
  const enabledAfter = (
    user: UserRow,
    isEnabled: boolean,
  ): { value: boolean; absence?: PlannedUser['absence'] } => {
    const isAbsent = absences.has(user.id)
    if (isEnabled && isAbsent) return { value: true, absence: 'over' }
    if (!isEnabled && user.enabled === 1) return { value: false, absence: 'disabled' }
    return { value: user.enabled === 1 }
  }

  const updated = (person: Person, { user }: Linked): PlannedUser | undefined => {
    if (user.managed === 1) return undefined
    const enabled = enabledAfter(user, person.enabled)
    if (enabled.absence === undefined && isLike(user, directory, person)) return undefined
    const isRenamed = nameOf(person.username).value !== user.username
    const fields = {
      ...profileAfter(user, directory, person),
      ...(isRenamed ? { username: person.username } : {}),
      enabled: enabled.value,
    }
    const after = changedUserRow(user, fields, now)
    const changed = fieldsOf(user, after)
    if (changed.length === 0 && enabled.absence === undefined) return undefined
    const problem = problemWith([after.username_key, after.email_key], user.id)
    if (problem !== undefined) fail(problem)
    const { absence } = enabled
    const op = absence === 'over' ? 'enable' : absence === 'disabled' ? 'disable' : 'update'
    return {
      op,
      username: user.username,
      fields: changed,
      before: user,
      after,
      ...(absence === undefined ? {} : { absence }),
    }
  }

  const missing = ({ user }: Linked): PlannedUser | undefined => {
    if (user.managed === 1 || directory.onMissing === 'keep') return undefined
    const base = { username: user.username, before: user }
    if (directory.onMissing === 'delete')
      return { ...base, op: 'delete', fields: [], after: undefined }
    if (user.enabled === 0) return undefined
    const after = changedUserRow(user, { enabled: false }, now)
    return { ...base, op: 'disable', fields: fieldsOf(user, after), after, absence: 'missing' }
  }

  // Removals first: a name that a deleted user had may be taken in the same sync.
  for (const one of gone) attempt(one.user.username, () => missing(one))
  for (const person of read.people) {
    const known = linked.get(person.subject)
    attempt(person.username, () => (known ? updated(person, known) : added(person)))
  }
  return { changes, failures }
}
