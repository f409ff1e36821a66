/**
 * What a sync would do with users: compares the entries of a directory, page by page, with the users who are linked to them.
 * Pure; nothing is written, so that the guard sees all of it first. Only changes are kept.
 */

import type { FieldChange, SyncFailure } from '#schemas/wire/directory-sync.ts'
import type { DirectoryAbsenceRow } from '#server/storage/tables/directory-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { nameOf } from '#server/users/names.ts'
import { changedUserRow, newUserRow } from '#server/users/user-record.ts'
import type { Directory } from '../../directory.ts'
import type { Person } from '../../entries/person.ts'
import { isLike, profileAfter, profileOf } from '../../linked-user.ts'
import { type Contested, exchangeNames } from './exchanged-names.ts'
import type { PlannedUser } from './planned-user.ts'

export interface UserPlan {
  readonly changes: PlannedUser[]
  readonly failures: readonly SyncFailure[]
  /** Subjects of entries that could not become, or stay equal to, a user. */
  readonly failed: ReadonlySet<string>
}

export interface PlanInput {
  readonly directory: Directory
  readonly absences: ReadonlyMap<string, DirectoryAbsenceRow>
  /** Whether the plan contains the fields of new users: a dry run lists them. */
  readonly isListed: boolean
  readonly newId: () => string
  readonly now: number
}

/** What the realm knows about the people of a page. */
export interface Around {
  /** Linked users, by subject. */
  readonly linked: ReadonlyMap<string, UserRow>
  /** The users who have a name that an entry asks for, by folded name. */
  readonly owners: ReadonlyMap<string, string>
}

/** A linked user whose entry is gone. */
export interface Gone {
  readonly subject: string
  readonly user: UserRow
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

export const createUserPlan = (input: PlanInput) => {
  const { directory, absences, isListed, now } = input
  const changes: PlannedUser[] = []
  const failures: SyncFailure[] = []
  const failed = new Set<string>()
  /** Decided when it is known whose entries are gone. */
  const contested: Contested[] = []
  /** Names that users of this plan take. */
  const taken = new Map<string, string>()

  const fail = (name: string, subject: string, problem: string): void => {
    failures.push({ name, problem })
    failed.add(subject)
  }

  const namesOf = ({ username_key, email_key }: UserRow): string[] =>
    email_key === null ? [username_key] : [username_key, email_key]

  const take = (user: UserRow): void => {
    for (const name of namesOf(user)) taken.set(name, user.id)
  }

  /** Of names of the user, those who have them, and are others. */
  const ownersOf = (user: UserRow, owners: Around['owners']): Map<string, string> =>
    new Map(
      namesOf(user).flatMap((name) => {
        const owner = taken.get(name) ?? owners.get(name)
        return owner === undefined || owner === user.id ? [] : [[name, owner] as const]
      }),
    )

  const added = (person: Person): PlannedUser => {
    const { username, enabled, subject } = person
    const fields = { username, enabled, ...profileOf(directory, person) }
    const after = newUserRow(fields, { id: input.newId(), realm: directory.realm, now })
    return {
      op: 'add',
      username,
      fields: isListed ? fieldsOf(undefined, after) : [],
      subject,
      before: undefined,
      after,
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

  const updated = (person: Person, user: UserRow): PlannedUser | undefined => {
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
    const { absence } = enabled
    const op = absence === 'over' ? 'enable' : absence === 'disabled' ? 'disable' : 'update'
    return {
      op,
      username: user.username,
      fields: changed,
      subject: person.subject,
      before: user,
      after,
      ...(absence === undefined ? {} : { absence }),
    }
  }

  const missing = ({ user, subject }: Gone): PlannedUser | undefined => {
    if (user.managed === 1 || directory.onMissing === 'keep') return undefined
    const base = { username: user.username, subject, before: user }
    if (directory.onMissing === 'delete')
      return { ...base, op: 'delete', fields: [], after: undefined }
    if (user.enabled === 0) return undefined
    const after = changedUserRow(user, { enabled: false }, now)
    return { ...base, op: 'disable', fields: fieldsOf(user, after), after, absence: 'missing' }
  }

  const planned = (person: Person, user: UserRow | undefined): PlannedUser | undefined => {
    try {
      return user ? updated(person, user) : added(person)
    } catch (error) {
      const problem = error instanceof Error ? error.message : 'cannot be stored'
      fail(person.username, person.subject, problem)
      return undefined
    }
  }

  return {
    /** The people of a page. */
    see: (people: readonly Person[], { linked, owners }: Around): void => {
      for (const person of people) {
        const change = planned(person, linked.get(person.subject))
        if (!change?.after) continue
        const { after } = change
        const others = ownersOf(after, owners)
        if (others.size > 0) contested.push({ change, after, owners: others })
        else {
          take(after)
          changes.push(change)
        }
      }
    },

    finish: (gone: readonly Gone[]): UserPlan => {
      const removals = gone.flatMap((one) => missing(one) ?? [])
      const goneIds = new Set(gone.map(({ user }) => user.id))
      const deleted = new Set(
        removals.flatMap(({ op, before }) => (before && op === 'delete' ? [before.id] : [])),
      )
      const { settled, refused } = exchangeNames({
        contested,
        others: new Map(
          changes.flatMap(({ after }) => (after ? [[after.id, after] as const] : [])),
        ),
        taken,
        deleted,
        namesOf,
      })
      for (const { change, owner } of refused)
        fail(
          change.username,
          change.subject,
          goneIds.has(owner)
            ? 'an entry with a new id has the name of a user whose entry is gone: it is another person; delete or rename that user first'
            : 'another user has the name or the address already',
        )
      // Removals first: a name that a deleted user had may be taken in the same sync.
      return { changes: [...removals, ...changes, ...settled], failures, failed }
    },
  }
}
