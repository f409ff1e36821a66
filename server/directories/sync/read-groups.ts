/**
 * Reads the groups of a directory and who is in them: through groups in groups, however they go round, and by the primary group
 * of Active Directory, which lists no members (MS-ADTS §3.1.1.4.5).
 */

import type { SyncFailure } from '#schemas/wire/directory-sync.ts'
import { createPace } from '#server/platform/pace.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { Connection } from '../connection/connection.ts'
import { DirectoryAway } from '../connection/errors.ts'
import type { Directory, GroupSearch } from '../directory.ts'
import { comparableDn, isBelow } from '../entries/dn.ts'
import { parseFilter } from '../entries/filter.ts'
import { SyncRefused } from './errors.ts'
import {
  followsChains,
  type GroupEntry,
  mostMemberships,
  readDomain,
  readGroupEntries,
  readGroupsNamed,
  readInnerGroups,
  tooManyMembers,
} from './group-entries.ts'
import type { ReadUsers } from './read-users.ts'

export interface ReadGroup {
  readonly subject: string
  readonly name: string
  /** Subjects of the users who are in it, in whatever way. */
  readonly members: ReadonlySet<string>
}

export interface ReadGroups {
  readonly groups: readonly ReadGroup[]
  readonly failures: readonly SyncFailure[]
}

type Found = Pick<ReadUsers, 'byDn' | 'byUsername' | 'primaryGroups'>

/** RFC 2307 names members by uid, everything else by DN. */
const dnIn = (member: string): string | undefined =>
  member.includes('=') ? comparableDn(member) : undefined

/** A directory may make up a new group for every level; those of real ones have a few. */
const deepest = 100
/** So many names are asked for at once. */
const namesAtOnce = 100

/** Level by level, each name once: `tokenGroups` would take a request for each user, and knows security groups alone. */
const walkedFrom = async (
  outer: readonly GroupEntry[],
  strangersIn: (group: GroupEntry) => readonly string[],
  readNamed: (names: readonly string[]) => Promise<readonly GroupEntry[]>,
): Promise<GroupEntry[]> => {
  const found: GroupEntry[] = []
  const seen = new Set<string>()
  for (let level = outer, depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest)
      throw new DirectoryAway(`the groups of the directory are nested more than ${deepest} deep`)
    const names = level.flatMap(strangersIn).filter((name) => {
      const dn = comparableDn(name)
      return !seen.has(dn) && seen.add(dn)
    })
    const next: GroupEntry[] = []
    for (const part of inSlices(names, namesAtOnce)) next.push(...(await readNamed(part)))
    for (const one of next) found.push(one)
    level = next
  }
  return found
}

/**
 * The groups of Active Directory inside these that `groupFilter` leaves out: their members are members all the same. Only a group
 * with a member that is neither a known user nor a known group can have one.
 */
const groupsBetween = async (
  connection: Connection,
  directory: Directory,
  search: GroupSearch,
  groups: ReadonlyMap<string, GroupEntry>,
  { byDn }: Found,
): Promise<ReadonlyMap<string, GroupEntry>> => {
  const between = new Map<string, GroupEntry>()
  if (directory.protocol !== 'ad' || search.membership.toLowerCase() !== 'member') return between
  const strangersIn = ({ members }: GroupEntry): string[] =>
    members.filter((member) => {
      const dn = dnIn(member)
      return dn !== undefined && !byDn.has(dn) && !groups.has(dn)
    })
  const outer = [...groups.values()].filter((group) => strangersIn(group).length > 0)
  const [first] = outer
  const base = first && (await readDomain(connection))
  if (!first || base === undefined) return between
  let members = 0
  const keep = (inner: GroupEntry): void => {
    const dn = comparableDn(inner.dn)
    if (groups.has(dn) || between.has(dn)) return
    members += inner.members.length
    if (members > mostMemberships) throw tooManyMembers()
    between.set(dn, inner)
  }
  if (await followsChains(connection, first))
    for (const { dn } of outer)
      for (const inner of await readInnerGroups(connection, directory, search, { base, dn }))
        keep(inner)
  else {
    const readNamed = (names: readonly string[]) =>
      readGroupsNamed(connection, directory, search, { base, names })
    for (const inner of await walkedFrom(outer, strangersIn, readNamed)) keep(inner)
  }
  return between
}

export const readGroups = async (
  connection: Connection,
  directory: Directory,
  search: GroupSearch,
  users: Found,
): Promise<ReadGroups> => {
  const asked = { base: search.base, filter: parseFilter(search.filter) }
  const entries = await readGroupEntries(connection, directory, search, asked)
  if (entries.some(({ dn }) => !isBelow(dn, search.base)))
    throw new SyncRefused(
      'directory',
      `the directory answers with an entry that is not below "${search.base}"`,
    )
  const pace = createPace()
  const listed = new Map(entries.map((group) => [comparableDn(group.dn), group]))
  const between = await groupsBetween(connection, directory, search, listed, users)
  const byDn = new Map([...listed, ...between])
  const byRid = Map.groupBy(users.primaryGroups, ([, rid]) => rid)
  const direct = new Map<GroupEntry, { users: Set<string>; groups: GroupEntry[] }>()
  for (const group of byDn.values()) {
    const own = { users: new Set<string>(), groups: [] as GroupEntry[] }
    for (const member of group.members) {
      const dn = dnIn(member)
      const user =
        dn === undefined ? users.byUsername.get(member.toLowerCase()) : users.byDn.get(dn)
      const nested = dn === undefined ? undefined : byDn.get(dn)
      if (user !== undefined) own.users.add(user)
      if (nested) own.groups.push(nested)
      if (pace.over()) await pace.rest()
    }
    for (const [subject] of byRid.get(group.rid ?? '') ?? []) own.users.add(subject)
    direct.set(group, own)
  }

  /** Each group once, so that groups which contain each other end. */
  const within = (group: GroupEntry): Set<string> => {
    const members = new Set<string>()
    const seen = new Set([group])
    const waiting = [group]
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      const own = direct.get(one)
      for (const user of own?.users ?? []) members.add(user)
      for (const inner of own?.groups ?? [])
        if (!seen.has(inner)) {
          seen.add(inner)
          waiting.push(inner)
        }
    }
    return members
  }

  const groups: ReadGroup[] = []
  const failures: SyncFailure[] = []
  let memberships = 0
  for (const group of listed.values()) {
    const { subject, name, dn } = group
    if (subject === undefined || !name)
      failures.push({ name: dn, problem: `it has no cn or ${directory.attributes.uuid}` })
    else {
      const members = within(group)
      // Groups in groups multiply: a short answer of the directory may stand for any number of memberships.
      memberships += members.size
      if (memberships > mostMemberships) throw tooManyMembers()
      groups.push({ subject, name, members })
    }
    if (pace.over()) await pace.rest()
  }
  return { groups, failures }
}
