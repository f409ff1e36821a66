/**
 * The entries of groups and their members, as the directory lists them: in ranges where there are many (MS-ADTS §3.1.1.3.1.3.3),
 * and with the groups between a group and its users that `groupFilter` leaves out.
 */

import {
  AndFilter,
  EqualityFilter,
  ExtensibleFilter,
  type Filter,
  OrFilter,
  PresenceFilter,
} from 'ldapts'
import { type Connection, longestDn, type Search } from '../connection/connection.ts'
import { DirectoryAway, DirectoryRefused, resultCodes } from '../connection/errors.ts'
import type { Directory, GroupSearch } from '../directory.ts'
import { type Entry, stableIdOf } from '../entries/entry.ts'

export interface GroupEntry {
  readonly dn: string
  readonly subject: string | undefined
  readonly name: string | undefined
  /** The last number of its SID (MS-DTYP §2.4.2.2), by which users name their primary group. */
  readonly rid: string | undefined
  readonly members: readonly string[]
}

export const tooManyMembers = (): DirectoryAway =>
  new DirectoryAway(
    `the groups of the directory have more than ${mostMemberships} members: narrow groupSearchBase or groupFilter`,
  )

/** An entry as it came: of many members the first ones, and where the next begin. */
interface Begun extends GroupEntry {
  readonly next: number | undefined
}

const nameAttribute = 'cn'
const sidAttribute = 'objectSid'
const everything = new PresenceFilter({ attribute: 'objectClass' })
/** Memberships are kept in memory, which all realms share, until they are written. */
export const mostMemberships = 5_000_000
/** More parts of one list of members than that do not come. */
const mostRanges = 10_000
/** LDAP_MATCHING_RULE_IN_CHAIN (MS-ADTS §3.1.1.3.4.4.3): memberships through groups in groups. */
const inChain = '1.2.840.113556.1.4.1941'

const ridOf = (sid: Buffer | undefined): string | undefined =>
  sid && sid.length >= 12 ? String(sid.readUInt32LE(sid.length - 4)) : undefined

/** `member;range=0-1499`: a part of the values; `*` at the end marks the last. */
const rangeIn = (
  entry: Entry,
  attribute: string,
): { values: readonly string[]; next: number | undefined } | undefined => {
  for (const name of entry.names) {
    const [, own, end] = /^(.+);range=\d+-(\d+|\*)$/.exec(name) ?? []
    if (own === attribute.toLowerCase() && end !== undefined)
      return { values: entry.values(name), next: end === '*' ? undefined : Number(end) + 1 }
  }
  return undefined
}

/** Values are compared as DNs, character by character. */
const shortEnough = (members: readonly string[]): readonly string[] => {
  if (members.some(({ length }) => length > longestDn))
    throw new DirectoryAway(`a group names a member with more than ${longestDn} characters`)
  return members
}

const begunOf = ({ attributes }: Directory, { membership }: GroupSearch, entry: Entry): Begun => {
  const range = rangeIn(entry, membership)
  return {
    dn: entry.dn,
    subject: stableIdOf(entry, attributes.uuid),
    name: entry.first(nameAttribute)?.trim(),
    rid: ridOf(entry.bytes(sidAttribute)),
    members: shortEnough([...entry.values(membership), ...(range?.values ?? [])]),
    next: range?.next,
  }
}

const finished = async (
  connection: Connection,
  { next: first, ...group }: Begun,
  { membership }: GroupSearch,
): Promise<GroupEntry> => {
  const members = [...group.members]
  let next = first
  for (let count = 0; next !== undefined; count += 1) {
    if (count >= mostRanges) throw new DirectoryAway('the members of a group do not end')
    const { code, entries } = await connection.search({
      base: group.dn,
      scope: 'base',
      filter: everything,
      attributes: [`${membership};range=${next}-*`],
    })
    if (code !== resultCodes.success) throw new DirectoryRefused('members of a group', code)
    const [found] = entries
    const range = found && rangeIn(found, membership)
    if (!range) throw new DirectoryAway('the directory gives only a part of the members of a group')
    for (const member of shortEnough(range.values)) members.push(member)
    if (members.length > mostMemberships) throw tooManyMembers()
    next = range.next
  }
  return { ...group, members }
}

export const readGroupEntries = async (
  connection: Connection,
  directory: Directory,
  groups: GroupSearch,
  asked: Pick<Search, 'base' | 'filter'>,
): Promise<GroupEntry[]> => {
  const attributes = [directory.attributes.uuid, nameAttribute, groups.membership, sidAttribute]
  // What is kept of an entry is taken from it when it arrives: the bytes of all members would outlive it.
  const begun: Begun[] = []
  const read = (entry: Entry): Begun => begunOf(directory, groups, entry)
  let listed = 0
  for await (const page of connection.pages({ ...asked, attributes }, directory.pageSize, read))
    for (const group of page) {
      listed += group.members.length
      if (listed > mostMemberships) throw tooManyMembers()
      begun.push(group)
    }
  const entries: GroupEntry[] = []
  for (const group of begun)
    entries.push(group.next === undefined ? group : await finished(connection, group, groups))
  return entries
}

/** The root of the domain of Active Directory. */
export const readDomain = async (connection: Connection): Promise<string | undefined> => {
  const { entries } = await connection.search({
    base: '',
    scope: 'base',
    filter: everything,
    attributes: ['defaultNamingContext'],
  })
  return entries[0]?.first('defaultNamingContext')
}

const groupsThat = (filter: Filter): Filter =>
  new AndFilter({
    filters: [new EqualityFilter({ attribute: 'objectClass', value: 'group' }), filter],
  })

/**
 * Whether the directory follows groups in groups by itself. One that does not know the rule refuses it, or finds nothing by it
 * (RFC 4511 §4.5.1.7.7): then a group is not found by a member that it lists.
 */
export const followsChains = async (
  connection: Connection,
  { dn, members: [member = ''] }: Pick<GroupEntry, 'dn' | 'members'>,
): Promise<boolean> => {
  const { code, entries } = await connection.search({
    base: dn,
    scope: 'base',
    filter: new ExtensibleFilter({ matchType: 'member', rule: inChain, value: member }),
    attributes: ['1.1'],
  })
  if (code === resultCodes.busy || code === resultCodes.unavailable)
    throw new DirectoryAway('the directory is busy or unavailable')
  return code === resultCodes.success && entries.length > 0
}

/** All groups below the base that are in this one, directly or through others. `memberOf` exists for `member` alone. */
export const readInnerGroups = (
  connection: Connection,
  directory: Directory,
  groups: GroupSearch,
  { base, dn }: { readonly base: string; readonly dn: string },
): Promise<GroupEntry[]> => {
  const filter = groupsThat(
    new ExtensibleFilter({ matchType: 'memberOf', rule: inChain, value: dn }),
  )
  return readGroupEntries(connection, directory, groups, { base, filter })
}

/** Those of these names that are groups. */
export const readGroupsNamed = (
  connection: Connection,
  directory: Directory,
  groups: GroupSearch,
  { base, names }: { readonly base: string; readonly names: readonly string[] },
): Promise<GroupEntry[]> => {
  const filters = names.map(
    (value) => new EqualityFilter({ attribute: 'distinguishedName', value }),
  )
  const filter = groupsThat(new OrFilter({ filters }))
  return readGroupEntries(connection, directory, groups, { base, filter })
}
