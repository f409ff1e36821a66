/**
 * Reads the groups of a directory and who is in them: through groups in groups, however they go round, and by the primary group
 * of Active Directory, which lists no members (MS-ADTS §3.1.1.4.5).
 */

import { PresenceFilter } from 'ldapts'
import type { SyncFailure } from '#schemas/wire/directory-sync.ts'
import { createPace } from '#server/platform/pace.ts'
import type { Connection } from '../connection/connection.ts'
import { DirectoryAway, DirectoryRefused, resultCodes } from '../connection/errors.ts'
import type { Directory, GroupSearch } from '../directory.ts'
import { comparableDn, isBelow } from '../entries/dn.ts'
import { type Entry, entryOf, stableIdOf } from '../entries/entry.ts'
import { parseFilter } from '../entries/filter.ts'
import { SyncRefused } from './errors.ts'
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

interface RawGroup {
  readonly subject: string
  readonly name: string
  readonly dn: string
  readonly rid: string | undefined
  readonly values: readonly string[]
}

const nameAttribute = 'cn'
const sidAttribute = 'objectSid'
const everything = new PresenceFilter({ attribute: 'objectClass' })
/** More parts of one list of members than that do not come. */
const mostRanges = 10_000

/** The last number of a SID (MS-DTYP §2.4.2.2), by which users name their primary group. */
const ridOf = (sid: Buffer | undefined): string | undefined =>
  sid && sid.length >= 12 ? String(sid.readUInt32LE(sid.length - 4)) : undefined

/** `member;range=0-1499`: a part of the values (MS-ADTS §3.1.1.3.1.3.3); `*` at the end marks the last. */
const rangeIn = ({ names }: Entry, attribute: string) => {
  for (const name of names) {
    const [, own, , end] = /^(.+);range=(\d+)-(\d+|\*)$/.exec(name) ?? []
    if (own === attribute.toLowerCase() && end !== undefined) return { name, end }
  }
  return undefined
}

const membersOf = async (
  connection: Connection,
  entry: Entry,
  { membership }: GroupSearch,
): Promise<string[]> => {
  const values = [...entry.values(membership)]
  let range = rangeIn(entry, membership)
  if (range) values.push(...entry.values(range.name))
  for (let count = 0; range && range.end !== '*'; count += 1) {
    if (count >= mostRanges) throw new DirectoryAway('the members of a group do not end')
    const next: number = Number(range.end) + 1
    const { code, entries } = await connection.search({
      base: entry.dn,
      scope: 'base',
      filter: everything,
      attributes: [`${membership};range=${next}-*`],
    })
    if (code !== resultCodes.success) throw new DirectoryRefused('members of a group', code)
    const [found] = entries.map(entryOf)
    const following = found && rangeIn(found, membership)
    if (!found || !following)
      throw new DirectoryAway('the directory gives only a part of the members of a group')
    values.push(...found.values(following.name))
    range = following
  }
  return values
}

const rawGroups = async (
  connection: Connection,
  directory: Directory,
  search: GroupSearch,
): Promise<{ raw: RawGroup[]; failures: SyncFailure[] }> => {
  const { attributes, pageSize } = directory
  const raw: RawGroup[] = []
  const failures: SyncFailure[] = []
  const wanted = [attributes.uuid, nameAttribute, search.membership, sidAttribute]
  const asked = { base: search.base, filter: parseFilter(search.filter), attributes: wanted }
  const entries: Entry[] = []
  for await (const page of connection.pages(asked, pageSize, entryOf)) entries.push(...page)
  for (const entry of entries) {
    if (!isBelow(entry.dn, search.base))
      throw new SyncRefused(
        'directory',
        `the directory answers with an entry that is not below "${search.base}"`,
      )
    const subject = stableIdOf(entry, attributes.uuid)
    const name = entry.first(nameAttribute)?.trim()
    if (subject === undefined || name === undefined || name === '') {
      failures.push({ name: entry.dn, problem: `it has no ${nameAttribute} or ${attributes.uuid}` })
      continue
    }
    const values = await membersOf(connection, entry, search)
    raw.push({ subject, name, dn: entry.dn, rid: ridOf(entry.bytes(sidAttribute)), values })
  }
  return { raw, failures }
}

export const readGroups = async (
  connection: Connection,
  directory: Directory,
  search: GroupSearch,
  users: Pick<ReadUsers, 'byDn' | 'byUsername' | 'primaryGroups'>,
): Promise<ReadGroups> => {
  const { raw, failures } = await rawGroups(connection, directory, search)
  const pace = createPace()
  const byDn = new Map(raw.map((group) => [comparableDn(group.dn), group]))
  const byRid = Map.groupBy(users.primaryGroups, ([, rid]) => rid)
  const direct = new Map<RawGroup, { users: Set<string>; groups: RawGroup[] }>()
  for (const group of raw) {
    const own = { users: new Set<string>(), groups: [] as RawGroup[] }
    for (const value of group.values) {
      // RFC 2307 names members by uid, everything else by DN.
      const key = value.includes('=') ? comparableDn(value) : undefined
      const user =
        key === undefined ? users.byUsername.get(value.toLowerCase()) : users.byDn.get(key)
      const nested = key === undefined ? undefined : byDn.get(key)
      if (user !== undefined) own.users.add(user)
      if (nested) own.groups.push(nested)
      if (pace.over()) await pace.rest()
    }
    for (const [subject] of byRid.get(group.rid ?? '') ?? []) own.users.add(subject)
    direct.set(group, own)
  }

  /** Each group once, so that groups which contain each other end. */
  const within = (group: RawGroup): Set<string> => {
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
  for (const group of raw) {
    groups.push({ subject: group.subject, name: group.name, members: within(group) })
    if (pace.over()) await pace.rest()
  }
  return { groups, failures }
}
