/**
 * What a sync would do with groups. It is known, and refused where the answer of the directory may not be whole, before anything
 * is written.
 */

import { formats } from '#schemas/text/formats.ts'
import type { GroupCounts, SyncFailure } from '#schemas/wire/directory-sync.ts'
import type { Storage } from '#server/storage/contract.ts'
import { memberIdsIn } from '#server/users/memberships.ts'
import type { Directory } from '../directory.ts'
import { SyncRefused } from './errors.ts'
import type { GroupDocuments, GroupOperation, KnownGroup } from './group-documents.ts'
import { guardGroups, guardMemberships } from './guard.ts'
import type { ReadGroup, ReadGroups } from './read-groups.ts'
import { groupsMadeFor } from './sync-state.ts'

export interface PlanGroupParts {
  readonly storage: Pick<Storage, 'db'>
  readonly documents: GroupDocuments
}

export interface PlanGroupInput {
  readonly directory: Directory
  /** The document of the directory, and deleted ones that it replaces. */
  readonly providers: readonly string[]
  /** Ids of the users by subject. */
  readonly users: ReadonlyMap<string, string>
  readonly allowRemovals: number | undefined
}

export interface PlannedGroups {
  readonly operations: readonly GroupOperation[]
  /** Groups of the directory that have a document already. */
  readonly kept: ReadonlyMap<string, string>
  /** To be made, by name. */
  readonly made: ReadonlyMap<string, ReadGroup>
  /** Documents that are no longer of the directory. */
  readonly forgotten: readonly string[]
  readonly failures: readonly SyncFailure[]
  readonly counts: Pick<GroupCounts, 'added' | 'updated' | 'removed'>
}

const isName = (name: string): boolean =>
  name.length <= 255 && formats['segment']?.test(name) === true

/** A right that the bind user lost on the members alone is answered with groups that are all empty. */
const guardMembers = async (
  { storage }: PlanGroupParts,
  read: ReadGroups,
  kept: ReadonlyMap<string, string>,
  { directory, users, allowRemovals }: PlanGroupInput,
): Promise<void> => {
  if (kept.size === 0 || read.groups.some(({ members }) => members.size > 0)) return
  const linked = new Set(users.values())
  const before = await memberIdsIn(storage, [...kept.values()])
  const lost = [...before.values()].flat().filter((userId) => linked.has(userId)).length
  guardMemberships(directory, lost, allowRemovals)
}

/** A deleted group of a file stays a document: only the file removes it. */
const deletionsOf = (gone: readonly (KnownGroup | undefined)[]): GroupOperation[] =>
  gone.flatMap((group) => (group?.isRuntime ? [{ op: 'delete', name: group.name } as const] : []))

interface Changes extends Pick<PlannedGroups, 'kept' | 'made' | 'failures'> {
  readonly operations: readonly GroupOperation[]
}

/** Creates and renames the groups that were read, in their order; `taken` are the names that other groups keep. */
const changesOf = (
  groups: readonly ReadGroup[],
  ownOf: (subject: string) => KnownGroup | undefined,
  taken: ReadonlySet<string>,
): Changes => {
  const names = new Set(taken)
  const operations: GroupOperation[] = []
  const failures: SyncFailure[] = []
  const kept = new Map<string, string>()
  const made = new Map<string, ReadGroup>()
  for (const group of groups) {
    const { name, subject } = group
    const own = ownOf(subject)
    if (own) kept.set(subject, own.id)
    if (own?.name === name || (own && !own.isRuntime)) continue
    if (!isName(name)) failures.push({ name, problem: 'a group cannot have this name' })
    else if (names.has(name))
      failures.push({ name, problem: 'there is a group of this name that is not of the directory' })
    else {
      names.add(name)
      if (own) {
        names.delete(own.name)
        operations.push({ op: 'rename', from: own.name, name })
      } else {
        made.set(name, group)
        operations.push({ op: 'create', name })
      }
    }
  }
  return { operations, failures, kept, made }
}

/** Throws `SyncRefused` where the groups that were read may not be all. */
export const planGroups = async (
  parts: PlanGroupParts,
  read: ReadGroups,
  input: PlanGroupInput,
): Promise<PlannedGroups> => {
  const { storage, documents } = parts
  const { directory, providers, allowRemovals } = input
  const mapped = await groupsMadeFor(storage, providers)
  if (mapped.length > 0 && read.groups.length === 0)
    throw new SyncRefused(
      'directory',
      'the search finds no group, and there were some: see groupSearchBase and groupFilter',
    )
  const known = await documents.list(directory.realm)
  const byId = new Map(known.map((group) => [group.id, group]))
  const bySubject = new Map(mapped.map((row) => [row.subject, row.document_id]))
  const present = new Set(read.groups.map(({ subject }) => subject))
  const gone = mapped.filter(({ subject }) => !present.has(subject))
  const goneNames = gone.map(({ document_id }) => byId.get(document_id)?.name ?? document_id)
  guardGroups(directory, goneNames, mapped.length, allowRemovals)
  const deletions = deletionsOf(gone.map(({ document_id }) => byId.get(document_id)))
  const deleted = new Set(deletions.map(({ name }) => name))
  const { operations, failures, kept, made } = changesOf(
    read.groups,
    (subject) => byId.get(bySubject.get(subject) ?? ''),
    new Set(known.map(({ name }) => name).filter((name) => !deleted.has(name))),
  )
  await guardMembers(parts, read, kept, input)
  return {
    operations: [...deletions, ...operations],
    kept,
    made,
    forgotten: gone.map(({ document_id }) => document_id),
    failures: [...read.failures, ...failures],
    counts: {
      added: made.size,
      updated: operations.length - made.size,
      removed: gone.length,
    },
  }
}
