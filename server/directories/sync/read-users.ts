/**
 * Reads the users of a directory: all of them, or those that changed and the ids of all. An answer that may not be whole ends
 * the sync: what is missing in it would be taken for users who left.
 */

import { createHash } from 'node:crypto'
import {
  AndFilter,
  EqualityFilter,
  type Filter,
  GreaterThanEqualsFilter,
  OrFilter,
  PresenceFilter,
} from 'ldapts'
import type { DirectorySyncRow } from '#server/storage/tables/directory-tables.ts'
import type { Connection } from '../connection/connection.ts'
import { resultCodes } from '../connection/errors.ts'
import type { Directory } from '../directory.ts'
import { dnWithin } from '../entries/dn.ts'
import { type Entry, idValueOf, stableIdOf } from '../entries/entry.ts'
import { filterForAll } from '../entries/filter.ts'
import {
  isPerson,
  type NoPerson,
  type Person,
  personAttributes,
  personOf,
} from '../entries/person.ts'
import { SyncRefused } from './errors.ts'
import { type Change, changeOf, createMark, readChanges } from './marks.ts'

export interface ReadUsers {
  readonly mode: 'full' | 'changes'
  readonly noPeople: readonly NoPerson[]
  /** The subjects of all entries. */
  readonly present: Pick<ReadonlySet<string>, 'has'>
  /** Where groups are read: the subjects by the comparable form of their DN, or by username where members are named so. */
  readonly byDn: ReadonlyMap<string, string>
  readonly byUsername: ReadonlyMap<string, string>
  /** The primary groups of users of Active Directory, by subject. */
  readonly primaryGroups: ReadonlyMap<string, string>
  readonly markOf: string
  /** What the next sync begins with; subjects that failed are read again. */
  readonly mark: (isFailed: (subject: string) => boolean) => string | null
}

export interface ReadOptions {
  readonly full: boolean
  readonly now: number
  readonly isKnown: (subject: string) => boolean
  /** Page by page: all, or those that changed and those that were not known before. */
  readonly take: (people: readonly Person[]) => Promise<void>
  /** How many entries have been read. */
  readonly progress: (read: number) => void
}

/** Changes alone are read for this long; then all entries again. */
const fullEveryMs = 24 * 3_600_000
const idsAtOnce = 50
/** So many entries are read again by the time of their change, which is one search, rather than by their ids. */
const fewEntries = 500
const primaryGroup = 'primaryGroupID'
const changeTime = 'modifyTimestamp'
const changeNumber = 'entryCSN'

/** Attributes whose values are DNs (RFC 4519 §2.17, §2.40); others, such as memberUid (RFC 2307), may name users. */
const isByDn = /^(?:unique)?member$/i

const everything = new PresenceFilter({ attribute: 'objectClass' })

/** A sync that reads by other settings, or from another server of Active Directory, begins anew. */
const markOfServer = async (connection: Connection, directory: Directory): Promise<string> => {
  const { userSearchBase, userSearchFilter, attributes, protocol, trustEmail, groups } = directory
  const { entries } = await connection.search({
    base: '',
    scope: 'base',
    filter: everything,
    attributes: ['dsServiceName'],
  })
  const server = protocol === 'ad' ? (entries[0]?.first('dsServiceName') ?? '') : ''
  return createHash('sha256')
    .update(
      JSON.stringify([userSearchBase, userSearchFilter, attributes, trustEmail, groups, server]),
    )
    .digest('base64url')
}

const highestUsn = async (connection: Connection): Promise<string | null> => {
  const { entries } = await connection.search({
    base: '',
    scope: 'base',
    filter: everything,
    attributes: ['highestCommittedUSN'],
  })
  return entries[0]?.first('highestCommittedUSN') ?? null
}

/** Fails where the base cannot be read: a subtree that is hidden is answered as an empty one. */
const insistOnBase = async (connection: Connection, base: string): Promise<void> => {
  const { code } = await connection.search({
    base,
    scope: 'base',
    filter: everything,
    attributes: ['1.1'],
  })
  if (code !== resultCodes.success)
    throw new SyncRefused('directory', `"${base}" cannot be read (result code ${code})`)
}

export const readUsers = async (
  connection: Connection,
  directory: Directory,
  before: DirectorySyncRow | undefined,
  options: ReadOptions,
): Promise<ReadUsers> => {
  const { userSearchBase: base, userSearchFilter, attributes, pageSize, protocol } = directory
  const isAd = protocol === 'ad'
  const isByUsername = directory.groups !== undefined && !isByDn.test(directory.groups.membership)
  await insistOnBase(connection, base)
  const markOf = await markOfServer(connection, directory)
  const usn = isAd ? await highestUsn(connection) : null
  const all = filterForAll(userSearchFilter)
  const within = dnWithin(base)
  /** Entries of linked users that cannot be read as users any more. */
  const unusable = new Set<string>()
  const noPeople: NoPerson[] = []
  /** The subjects of all entries, and whether they were taken: one copy of each. */
  const present = new Map<string, boolean>()
  const isTaken = (subject: string): boolean => present.get(subject) === true
  const byDn = new Map<string, string>()
  const byUsername = new Map<string, string>()
  const primaryGroups = new Map<string, string>()
  const isFresh = before !== undefined && options.now - before.full_at < fullEveryMs
  const isSame = before?.mark_of === markOf && before.mark !== null
  const last = !options.full && isFresh && isSame ? (before.mark ?? undefined) : undefined
  const changes = last === undefined || isAd ? undefined : readChanges(last)
  /** Of Active Directory: the number of the last change that was read, and subjects that failed then. */
  const [lastUsn = '', ...failedBefore] = (isAd && last?.split(' ')) || []
  const mark = createMark(changes?.time)
  let read = 0

  /** Notes an entry that has a stable id. */
  const noted = (entry: Entry): { subject: string; change: Change | undefined } | undefined => {
    const dn = within(entry.dn)
    if (dn === undefined)
      throw new SyncRefused(
        'directory',
        `the directory answers with an entry that is not below "${base}"`,
      )
    const subject = stableIdOf(entry, attributes.uuid)
    if (subject === undefined) return undefined
    if (!present.has(subject)) present.set(subject, false)
    const time = isAd ? undefined : entry.first(changeTime)
    const change =
      time === undefined ? undefined : changeOf(subject, time, entry.first(changeNumber))
    if (change) mark.see(change)
    if (directory.groups) {
      byDn.set(dn, subject)
      const group = isAd ? entry.first(primaryGroup) : undefined
      if (group !== undefined) primaryGroups.set(subject, group)
      const username = isByUsername ? entry.first(attributes.uid) : undefined
      if (username !== undefined) byUsername.set(username.toLowerCase(), subject)
    }
    return { subject, change }
  }

  /** Entries are read as they arrive; a page of what was kept of them is used when it is whole. */
  const each = async <T>(
    filter: Filter,
    wanted: readonly string[],
    keep: (entry: Entry) => T,
    use: (kept: readonly T[]) => Promise<void> | void,
  ): Promise<void> => {
    const search = { base, filter, attributes: wanted }
    for await (const page of connection.pages(search, pageSize, keep)) {
      read += page.length
      options.progress(read)
      await use(page)
    }
  }

  const extra = isAd ? [primaryGroup] : [changeTime, changeNumber]
  const whole = [...personAttributes(directory), ...extra]
  const takeEach = (filter: Filter, isWanted: (subject: string) => boolean): Promise<void> => {
    const take = (entry: Entry): Person | undefined => {
      const subject = noted(entry)?.subject
      if (subject !== undefined && !isWanted(subject)) return undefined
      const one = personOf(directory, entry)
      if (!isPerson(one)) {
        noPeople.push(one)
        if (subject !== undefined) unusable.add(subject)
        return undefined
      }
      if (isTaken(one.subject))
        throw new SyncRefused('directory', `two entries have the same ${attributes.uuid}`)
      present.set(one.subject, true)
      return one
    }
    return each(filter, whole, take, async (page) => {
      const people = page.filter((one) => one !== undefined)
      if (people.length > 0) await options.take(people)
    })
  }

  const takeByIds = async (subjects: readonly string[]): Promise<void> => {
    for (let from = 0; from < subjects.length; from += idsAtOnce) {
      const filters = subjects.slice(from, from + idsAtOnce).map(
        (id) =>
          new EqualityFilter({
            attribute: attributes.uuid,
            value: idValueOf(attributes.uuid, id),
          }),
      )
      const filter = new AndFilter({ filters: [all, new OrFilter({ filters })] })
      await takeEach(filter, (subject) => !isTaken(subject))
    }
  }

  /** The ids of all, and which of them have to be read: `late` ones may have changed since the last sync. */
  const sweep = async (): Promise<{ late: number; changed: string[]; unknown: string[] }> => {
    const changed: string[] = []
    const unknown: string[] = []
    let late = 0
    const look = (entry: Entry): void => {
      const one = noted(entry)
      if (!one) return
      const { subject, change } = one
      if (!options.isKnown(subject)) unknown.push(subject)
      else if (change && changes?.isLate(change)) {
        late += 1
        if (!changes.isRead(change)) changed.push(subject)
      }
    }
    const names = isByUsername ? [attributes.uid] : []
    await each(all, [attributes.uuid, ...names, ...extra], look, () => undefined)
    return { late, changed, unknown }
  }

  const since = (attribute: string, value: string): Filter =>
    new AndFilter({ filters: [all, new GreaterThanEqualsFilter({ attribute, value })] })

  if (last === undefined) await takeEach(all, () => true)
  else {
    const { late, changed, unknown } = await sweep()
    if (isAd) await takeEach(since('uSNChanged', lastUsn), () => true)
    else if (changed.length > 0 && late <= Math.max(fewEntries, 2 * changed.length))
      await takeEach(since(changeTime, changes?.from ?? ''), () => true)
    else await takeByIds(changed)
    const again = failedBefore.filter((subject) => present.has(subject))
    await takeByIds([...again, ...unknown].filter((subject) => !isTaken(subject)))
  }
  if (present.size === 0)
    throw new SyncRefused(
      'directory',
      `the search below "${base}" finds no user: see userSearchFilter, uuidAttribute, and what the bind user may read`,
    )
  const isUnread = (isFailed: (subject: string) => boolean) => (subject: string) =>
    isFailed(subject) || unusable.has(subject)
  /** Those that are not known are read again in any case. */
  const usnMark = (isFailed: (subject: string) => boolean): string | null =>
    usn &&
    [usn, ...[...present.keys()].filter((one) => options.isKnown(one) && isFailed(one))].join(' ')
  return {
    mode: last === undefined ? 'full' : 'changes',
    noPeople,
    present,
    byDn,
    byUsername,
    primaryGroups,
    markOf,
    mark: (isFailed) => (isAd ? usnMark : mark.text)(isUnread(isFailed)),
  }
}
