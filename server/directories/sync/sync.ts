/**
 * A sync of a directory: read all, plan all, ask the guard, then write. It runs once at a time on all nodes. What was read counts
 * as read only at the end: a sync that ends early is done again by the next.
 */

import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import type { SyncReport } from '#schemas/wire/directory-sync.ts'
import type { AuditEvent, Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { FederatedLinkRow } from '#server/storage/tables/broker-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Links } from '#server/users/links/links.ts'
import { nameOf } from '#server/users/names.ts'
import { ownersOfNames, usersByIds } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import type { Connection } from '../connection/connection.ts'
import type { Connections } from '../connections.ts'
import type { Directory } from '../directory.ts'
import { linkIssuer } from '../linked-user.ts'
import { type ApplyInput, applyUsers } from './apply-users.ts'
import type { GroupDocuments } from './group-documents.ts'
import { guardRemovals } from './guard.ts'
import { type Linked, planUsers } from './plan-users.ts'
import type { ReadUsers } from './read-users.ts'
import { countsOf, mostListed, noGroups, statusOf } from './report.ts'
import { type GroupOutcome, syncGroups } from './sync-groups.ts'
import { absencesOf, createSyncState, type Lease, leaseMs, takeOverState } from './sync-state.ts'

export interface SyncParts {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly recorder: Recorder
  readonly users: Users
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

export const createSync = (parts: SyncParts): Synchronize => {
  const { storage, copy, clock, recorder, users, links, connections } = parts
  const state = createSyncState({ storage, clock })

  /** Links, also those of a deleted document that this one replaces, with their users, by subject. */
  const linkedTo = async (directory: Directory): Promise<Map<string, Linked>> => {
    const rows: FederatedLinkRow[] = []
    for await (const page of links.ofProvider(directory)) rows.push(...page)
    rows.push(...(await links.orphansOf(directory, linkIssuer)))
    const found = await usersByIds(
      storage,
      rows.map(({ user_id }) => user_id),
    )
    const byId = new Map(found.map((user) => [user.id, user]))
    return new Map(
      rows.flatMap((link) => {
        const user = byId.get(link.user_id)
        return user ? [[link.subject, { link, user }] as const] : []
      }),
    )
  }

  const takeOver = async (
    { directory, hold }: ApplyInput,
    linked: ReadonlyMap<string, Linked>,
  ): Promise<void> => {
    const providers = new Set([...linked.values()].map(({ link }) => link.provider))
    providers.delete(directory.id)
    for (const deleted of providers)
      await storage.commit([
        hold(),
        links.takeOverAll(deleted, directory, linkIssuer),
        ...takeOverState(storage, deleted, directory.id),
      ])
  }

  const planFor = async (
    directory: Directory,
    read: ReadUsers,
    linked: ReadonlyMap<string, Linked>,
  ) => {
    const names = read.people.flatMap(({ subject, username, email }) => {
      const own = linked.get(subject)?.user
      return [
        ...(username === own?.username ? [] : [username]),
        ...(email === null || email === own?.email ? [] : [email]),
      ]
        .map((name) => nameOf(name).key)
        .filter((key) => key !== own?.username_key && key !== own?.email_key)
    })
    const owners = await ownersOfNames(storage, directory.realm, [...new Set(names)])
    const absences = await absencesOf(storage, directory.id)
    return planUsers({
      directory,
      read,
      linked,
      owners,
      absences: new Map(absences.map((row) => [row.user_id, row])),
      newId,
      now: clock.now(),
    })
  }

  const run = async (
    connection: Connection,
    request: SyncRequest,
    lease: Lease | undefined,
  ): Promise<SyncReport> => {
    const { directory, by, dryRun = false, signal } = request
    const view = await copy.fresh(directory.realm)
    const settings = await view?.get(Settings.kind, Settings.kind)
    if (!view || !settings) throw new Error(`there is no realm ${directory.realm}`)
    const { readUsers } = await import('./read-users.ts')
    const linked = await linkedTo(directory)
    const before = lease?.before ?? (await state.read(directory.id))
    const read = await readUsers(connection, directory, before, {
      full: request.full ?? false,
      now: clock.now(),
      isKnown: (subject) => linked.has(subject),
      progress: () => signal?.throwIfAborted(),
    })
    const plan = await planFor(directory, read, linked)
    guardRemovals(directory, plan.changes, linked.size, request.allowRemovals)
    const input: ApplyInput = {
      directory,
      defaultRole: contentOf<SettingsDoc>(settings).defaultRole,
      by,
      now: clock.now(),
      hold: () => {
        if (!lease) throw new Error('a dry run writes nothing')
        return state.hold(directory, lease)
      },
      progress: () => signal?.throwIfAborted(),
    }
    if (!dryRun) await takeOver(input, linked)
    const groupsRead = directory.groups && (await groupsOf(connection, directory, read))
    const applied = dryRun
      ? { done: plan.changes, failures: [] }
      : await applyUsers(
          {
            storage,
            recorder,
            users,
            links,
            around: (out, statements) => parts.keepAdministrator(view, out, statements),
          },
          input,
          plan.changes,
        )
    const ids = new Map([...linked].map(([subject, { user }]) => [subject, user.id]))
    for (const { person, after } of applied.done)
      if (person && after) ids.set(person.subject, after.id)
    const groups: GroupOutcome = groupsRead
      ? await syncGroups({ storage, recorder, documents: parts.groups }, input, groupsRead, {
          users: ids,
          dryRun,
        })
      : { counts: noGroups, failures: [] }
    const failures = [...plan.failures, ...applied.failures, ...groups.failures]
    const counts = { ...countsOf(applied.done), failed: failures.length }
    const report: SyncReport = {
      ignored: false,
      ...counts,
      synced: counts.added + counts.updated,
      status: statusOf(counts, dryRun),
      dryRun,
      mode: read.mode,
      groups: groups.counts,
      failures: failures.slice(0, mostListed),
      changes: dryRun
        ? plan.changes
            .slice(0, mostListed)
            .map(({ op, username, fields }) => ({ op, username, fields }))
        : [],
    }
    if (lease)
      await state.finish(directory, lease, {
        mark: read.mark,
        mark_of: read.markOf,
        full_at: read.mode === 'full' ? clock.now() : (before?.full_at ?? 0),
        result: JSON.stringify({ ...counts, mode: read.mode }),
      })
    return report
  }

  const groupsOf = async (connection: Connection, directory: Directory, read: ReadUsers) => {
    const { readGroups } = await import('./read-groups.ts')
    return directory.groups && readGroups(connection, directory, directory.groups, read)
  }

  const withConnection = async (
    request: SyncRequest,
    lease: Lease | undefined,
  ): Promise<SyncReport> => {
    const connection = await connections.poolOf(request.directory).open()
    try {
      return await run(connection, request, lease)
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
      await state.fail(directory, lease, reason).catch(() => undefined)
      throw error
    } finally {
      clearInterval(extending)
    }
  }
}
