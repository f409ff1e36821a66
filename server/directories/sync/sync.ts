/**
 * A sync of a directory: read all, plan all, ask the guard, then write. It runs once at a time on all nodes. What was read counts
 * as read only at the end: a sync that ends early is done again by the next.
 */

import type { SyncReport } from '#schemas/wire/directory-sync.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { withinBulkBound } from '#server/platform/tuning/memory.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { settingsOf } from '#server/storage/documents/settings.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { DirectorySyncRow } from '#server/storage/tables/directory-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Links } from '#server/users/links/links.ts'
import { nameOf } from '#server/users/names.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { ownersOfNames, usersByIds } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import type { Connection } from '../connection/connection.ts'
import type { Connections } from '../connections.ts'
import type { Directory } from '../directory.ts'
import type { Person } from '../entries/person.ts'
import { linkIssuer } from '../linked-user.ts'
import { withDeadline } from './deadline.ts'
import type { GroupDocuments } from './group-documents.ts'
import { guardAddresses, guardRemovals } from './guard.ts'
import { reportOf, type SyncOutcome, stateAfter } from './outcome.ts'
import { planGroups } from './plan-groups.ts'
import { createProgress } from './progress.ts'
import type { ReadUsers } from './read-users.ts'
import { noGroups } from './report.ts'
import { syncGroups } from './sync-groups.ts'
import { absencesOf, createSyncState, type Lease, leaseMs, takeOverState } from './sync-state.ts'
import {
  type Applied,
  type ApplyInput,
  type ApplyParts,
  applyUsers,
  pretendToApply,
} from './users/apply-users.ts'
import { type Around, createUserPlan, type UserPlan } from './users/plan-users.ts'

export interface SyncParts {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly recorder: Recorder
  readonly users: Users
  readonly ranks: Pick<Ranks, 'permissionsOfGroup'>
  readonly links: Links
  readonly connections: Connections
  readonly groups: GroupDocuments
  /** The statements of a write that disables or deletes users, so that an administrator is left. */
  readonly keepAdministrator: (
    view: RealmView,
    users: readonly UserRow[],
    statements: readonly Statement[],
  ) => Promise<Statement[]>
}

export interface SyncRequest {
  readonly directory: Directory
  readonly by: Pick<AuditEvent, 'actor' | 'sourceIp' | 'onBehalfOf'>
  readonly dryRun?: boolean
  /** Reads all entries, also where those that changed would do. */
  readonly full?: boolean
  /** How many users may be removed, instead of what the directory allows. */
  readonly allowRemovals?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** How long the directory may take to answer all; without a limit if unset. */
  readonly longestMs?: number | undefined
}

/** The users who are linked to a directory. */
interface Linked {
  /** Their ids by subject. */
  readonly users: Map<string, string>
  /** The deleted documents whose links count as those of this one. */
  readonly replaced: ReadonlySet<string>
}

export type Synchronize = (request: SyncRequest) => Promise<SyncReport>

const nothing: Omit<SyncReport, 'status' | 'dryRun'> = {
  ignored: true,
  added: 0,
  updated: 0,
  removed: 0,
  failed: 0,
  synced: 0,
  mode: 'full',
  groups: noGroups,
  failures: [],
  changes: [],
}

/** The document, and those that it replaces. */
const providersOf = ({ id }: Directory, { replaced }: Linked): readonly string[] => [
  id,
  ...replaced,
]

/** Rows of so many users at once: those of a whole page would outlive the space for new objects. */
const partSize = 200

export const createSync = (parts: SyncParts): Synchronize => {
  const { storage, copy, clock, recorder, users, links, connections } = parts
  const state = createSyncState({ storage, clock })
  const groupParts = { storage, copy, recorder, ranks: parts.ranks, documents: parts.groups }

  /** Links, also those of a deleted document that this one replaces: ids of users by subject. */
  const linkedTo = async (directory: Directory): Promise<Linked> => {
    const users = new Map<string, string>()
    for await (const page of links.subjectsOf(directory, linkIssuer))
      for (const { subject, user_id } of page) users.set(subject, user_id)
    const replaced = new Set<string>()
    for await (const page of links.orphansOf(directory, linkIssuer))
      for (const { provider, subject, user_id } of page) {
        users.set(subject, user_id)
        replaced.add(provider)
      }
    return { users, replaced }
  }

  const takeOver = async ({ directory, hold }: ApplyInput, { replaced }: Linked): Promise<void> => {
    for (const deleted of replaced)
      await storage.commit([
        hold(),
        links.takeOverAll(deleted, directory, linkIssuer),
        ...takeOverState(storage, deleted, directory.id),
      ])
  }

  /** The linked users of these subjects, by subject. */
  const usersOf = async (
    { users: ids }: Linked,
    subjects: readonly string[],
  ): Promise<Map<string, UserRow>> => {
    const known = subjects.flatMap((subject) => {
      const id = ids.get(subject)
      return id === undefined ? [] : [{ subject, id }]
    })
    const rows = await usersByIds(
      storage,
      known.map(({ id }) => id),
    )
    const byId = new Map(rows.map((user) => [user.id, user]))
    return new Map(
      known.flatMap(({ subject, id }) => {
        const user = byId.get(id)
        return user ? [[subject, user] as const] : []
      }),
    )
  }

  /** What the realm knows about the people of a page. */
  const around = async (
    { realm }: Directory,
    linked: Linked,
    people: readonly Person[],
  ): Promise<Around> => {
    const users = await usersOf(
      linked,
      people.map(({ subject }) => subject),
    )
    const names = people.flatMap(({ subject, username, email }) => {
      const own = users.get(subject)
      return [
        ...(username === own?.username ? [] : [username]),
        ...(email === null || email === own?.email ? [] : [email]),
      ]
        .map((name) => nameOf(name).key)
        .filter((key) => key !== own?.username_key && key !== own?.email_key)
    })
    return { linked: users, owners: await ownersOfNames(storage, realm, [...new Set(names)]) }
  }

  /** Reads the users of the directory, and plans each page as it comes. */
  const planFor = async (
    connection: Connection,
    { directory, dryRun = false, full = false }: SyncRequest,
    before: DirectorySyncRow | undefined,
    linked: Linked,
    progress: (read: number) => void,
  ): Promise<{ read: ReadUsers; plan: UserPlan }> => {
    const { readUsers } = await import('./read-users.ts')
    const absences = await absencesOf(storage, providersOf(directory, linked))
    const planning = createUserPlan({
      directory,
      absences: new Map(absences.map((row) => [row.user_id, row])),
      isListed: dryRun,
      newId,
      now: clock.now(),
    })
    const read = await readUsers(connection, directory, before, {
      full,
      now: clock.now(),
      isKnown: (subject) => linked.users.has(subject),
      take: async (people) => {
        for (const part of inSlices(people, partSize))
          planning.see(part, await around(directory, linked, part))
      },
      progress,
    })
    const absent = [...linked.users.keys()].filter((subject) => !read.present.has(subject))
    const gone = await usersOf(linked, absent)
    const plan = planning.finish([...gone].map(([subject, user]) => ({ subject, user })))
    return { read, plan }
  }

  /** Reads the groups of the directory, where it has them, and plans them; nothing is written. */
  const planGroupsFor = async (
    connection: Connection,
    { directory, allowRemovals }: SyncRequest,
    linked: Linked,
    users: ReadUsers,
  ) => {
    if (!directory.groups) return undefined
    const { readGroups } = await import('./read-groups.ts')
    const read = await readGroups(connection, directory, directory.groups, users)
    const plan = await planGroups(groupParts, read, {
      directory,
      providers: providersOf(directory, linked),
      users: linked.users,
      allowRemovals,
    })
    return { read, plan }
  }

  const inputOf = (
    { directory, by, signal }: SyncRequest,
    lease: Lease | undefined,
    linked: Linked,
    defaultRole: string,
    written: (done: number) => void,
  ): ApplyInput => ({
    directory,
    defaultRole,
    by,
    now: clock.now(),
    hold: () => {
      if (!lease) throw new Error('a dry run writes nothing')
      return state.hold(directory, lease)
    },
    progress: (done) => {
      signal?.throwIfAborted()
      written(done)
    },
    added: (subject, userId) => linked.users.set(subject, userId),
  })

  const write = async (
    view: RealmView,
    input: ApplyInput,
    linked: Linked,
    changes: UserPlan['changes'],
  ): Promise<Applied> => {
    await takeOver(input, linked)
    const around: ApplyParts['around'] = (out, statements) =>
      parts.keepAdministrator(view, out, statements)
    return applyUsers({ storage, recorder, users, links, around }, input, changes)
  }

  const run = async (
    connection: Connection,
    request: SyncRequest,
    lease: Lease | undefined,
  ): Promise<SyncReport> => {
    const { directory, dryRun = false, signal } = request
    const view = await copy.fresh(directory.realm)
    const settings = view && (await settingsOf(view))
    if (!settings) throw new Error(`there is no realm ${directory.realm}`)
    const linked = await linkedTo(directory)
    const before = lease?.before ?? (await state.read(directory.id))
    const tell = createProgress(
      async (progress) => lease && state.note(directory, lease, { progress }),
    )
    const { read, plan } = await planFor(connection, request, before, linked, (done) => {
      signal?.throwIfAborted()
      tell({ phase: 'read', done, total: null })
    })
    for (const guard of [guardRemovals, guardAddresses])
      guard(directory, plan.changes, linked.users.size, request.allowRemovals)
    const total = plan.changes.length
    const input = inputOf(request, lease, linked, settings.defaultRole, (done) =>
      tell({ phase: 'write', done, total }),
    )
    const planned = await planGroupsFor(connection, request, linked, read)
    const applied = dryRun
      ? pretendToApply(input, plan.changes)
      : await write(view, input, linked, plan.changes)
    const options = { users: linked.users, dryRun }
    const groups = planned
      ? await syncGroups(groupParts, input, planned.read, planned.plan, options)
      : { counts: noGroups, failures: [] }
    const outcome: SyncOutcome = { read, plan, applied, groups }
    if (lease) await state.finish(directory, lease, stateAfter(outcome, before, clock.now()))
    return reportOf(outcome, dryRun)
  }

  const withConnection = async (
    request: SyncRequest,
    lease: Lease | undefined,
  ): Promise<SyncReport> => {
    const { directory, longestMs } = request
    const connection = await connections.poolOf(directory).open()
    const asked = longestMs === undefined ? connection : withDeadline(connection, clock, longestMs)
    try {
      return await withinBulkBound(() => run(asked, request, lease))
    } finally {
      connection.close()
    }
  }

  return async (request) => {
    const { directory, dryRun = false } = request
    if (dryRun) return withConnection(request, undefined)
    const lease = await state.take(directory)
    if (!lease) return { ...nothing, status: 'another sync of this directory runs already', dryRun }
    // Reading takes long, and writes nothing that would extend the lease.
    const extending = setInterval(
      () => void storage.commit([state.hold(directory, lease)]).catch(() => undefined),
      leaseMs / 3,
    ).unref()
    try {
      return await withConnection(request, lease)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const noted = request.signal?.aborted
        ? state.giveUp(directory, lease)
        : state.fail(directory, lease, reason)
      await noted.catch(() => undefined)
      throw error
    } finally {
      clearInterval(extending)
    }
  }
}
