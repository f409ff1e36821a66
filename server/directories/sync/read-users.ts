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
import { createPace } from '#server/platform/pace.ts'
import type { DirectorySyncRow } from '#server/storage/tables/directory-tables.ts'
import type { Connection } from '../connection/connection.ts'
import { resultCodes } from '../connection/errors.ts'
import type { Directory } from '../directory.ts'
import { comparableDn, isBelow } from '../entries/dn.ts'
import { type Entry, entryOf, idValueOf, stableIdOf } from '../entries/entry.ts'
import { filterForAll } from '../entries/filter.ts'
import {
  isPerson,
  type NoPerson,
  type Person,
  personAttributes,
  personOf,
} from '../entries/person.ts'
import { generalizedTimeMs } from '../passwords/lockout.ts'
import { SyncRefused } from './errors.ts'

export interface Mark {
  readonly mark: string | null
  readonly markOf: string
}

export interface ReadUsers extends Mark {
  readonly mode: 'full' | 'changes'
  /** All, or those that changed and those that were not known before. */
  readonly people: readonly Person[]
  readonly noPeople: readonly NoPerson[]
  /** The subjects of all entries, by the comparable form of their DN. */
  readonly subjects: ReadonlyMap<string, string>
  /** The primary groups of users of Active Directory, by subject. */
  readonly primaryGroups: ReadonlyMap<string, string>
  readonly usernames: ReadonlyMap<string, string>
}

/** Entries are read again if they changed this long before the mark: clocks of several servers differ. */
const overlapMs = 300_000
/** Changes alone are read for this long; then all entries again. */
const fullEveryMs = 24 * 3_600_000
const idsAtOnce = 50
const primaryGroup = 'primaryGroupID'

const changeAttribute = ({ protocol }: Directory): string =>
  protocol === 'ad' ? 'uSNChanged' : 'modifyTimestamp'

const everything = new PresenceFilter({ attribute: 'objectClass' })

/** A sync that reads by other settings, or from another server of Active Directory, begins anew. */
const markOfServer = async (connection: Connection, directory: Directory): Promise<string> => {
  const { userSearchBase, userSearchFilter, attributes, protocol, trustEmail, groups } = directory
  const { entries } = await connection.search({
    base: '',
    scope: 'base',
    filter: everything,
    attributes: ['dsServiceName', 'highestCommittedUSN'],
  })
  const root = entries[0] && entryOf(entries[0])
  const server = protocol === 'ad' ? (root?.first('dsServiceName') ?? '') : ''
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
  return (entries[0] && entryOf(entries[0]).first('highestCommittedUSN')) ?? null
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

const changedSince = ({ protocol }: Directory, mark: string): Filter => {
  if (protocol === 'ad')
    return new GreaterThanEqualsFilter({ attribute: 'uSNChanged', value: mark })
  const since = new Date(generalizedTimeMs(mark) - overlapMs).toISOString()
  const value = `${since.replaceAll(/[-:T]|\..*/g, '')}Z`
  return new GreaterThanEqualsFilter({ attribute: 'modifyTimestamp', value })
}

const later = (a: string | null, b: string | undefined): string | null =>
  b !== undefined && (a === null || b > a) ? b : a

export const readUsers = async (
  connection: Connection,
  directory: Directory,
  before: DirectorySyncRow | undefined,
  options: {
    readonly full: boolean
    readonly now: number
    readonly isKnown: (subject: string) => boolean
    readonly progress: (read: number) => void
  },
): Promise<ReadUsers> => {
  const { userSearchBase: base, userSearchFilter, attributes, pageSize, protocol } = directory
  await insistOnBase(connection, base)
  const markOf = await markOfServer(connection, directory)
  const usn = protocol === 'ad' ? await highestUsn(connection) : null
  const all = filterForAll(userSearchFilter)
  const people = new Map<string, Person>()
  const noPeople: NoPerson[] = []
  const subjects = new Map<string, string>()
  const usernames = new Map<string, string>()
  const primaryGroups = new Map<string, string>()
  const pace = createPace()
  const extra = protocol === 'ad' ? [primaryGroup] : []
  let mark: string | null = null
  let read = 0

  const noted = (entry: Entry): string | undefined => {
    if (!isBelow(entry.dn, base))
      throw new SyncRefused(
        'directory',
        `the directory answers with an entry that is not below "${base}"`,
      )
    const subject = stableIdOf(entry, attributes.uuid)
    if (subject === undefined) return undefined
    subjects.set(comparableDn(entry.dn), subject)
    const group = entry.first(primaryGroup)
    if (group !== undefined) primaryGroups.set(subject, group)
    const username = entry.first(attributes.uid)
    if (username !== undefined) usernames.set(username.toLowerCase(), subject)
    return subject
  }

  const take = (entry: Entry): void => {
    noted(entry)
    mark = later(mark, entry.first(changeAttribute(directory)))
    const one = personOf(directory, entry)
    if (!isPerson(one)) noPeople.push(one)
    else if (people.has(one.subject))
      throw new SyncRefused('directory', `two entries have the same ${attributes.uuid}`)
    else people.set(one.subject, one)
  }

  const each = async (
    filter: Filter,
    wanted: readonly string[],
    handle: (entry: Entry) => void,
  ): Promise<void> => {
    const search = { base, filter, attributes: wanted }
    for await (const page of connection.pages(search, pageSize)) {
      for (const found of page) {
        handle(entryOf(found))
        if (pace.over()) await pace.rest()
      }
      read += page.length
      options.progress(read)
    }
  }

  const whole = [...personAttributes(directory), changeAttribute(directory), ...extra]
  const isFresh = before !== undefined && options.now - before.full_at < fullEveryMs
  const isSame = before?.mark_of === markOf && before.mark !== null
  const mode = !options.full && isFresh && isSame ? 'changes' : 'full'

  if (mode === 'full') await each(all, whole, take)
  else {
    mark = before?.mark ?? null
    const unknown: string[] = []
    await each(all, [attributes.uuid, attributes.uid, ...extra], (entry) => {
      const subject = noted(entry)
      if (subject !== undefined && !options.isKnown(subject)) unknown.push(subject)
    })
    const changed = new AndFilter({ filters: [all, changedSince(directory, before?.mark ?? '')] })
    await each(changed, whole, take)
    const unread = unknown.filter((subject) => !people.has(subject))
    for (let from = 0; from < unread.length; from += idsAtOnce) {
      const filters = unread.slice(from, from + idsAtOnce).map(
        (id) =>
          new EqualityFilter({
            attribute: attributes.uuid,
            value: idValueOf(attributes.uuid, id),
          }),
      )
      await each(new AndFilter({ filters: [all, new OrFilter({ filters })] }), whole, (entry) => {
        const subject = stableIdOf(entry, attributes.uuid)
        if (subject !== undefined && !people.has(subject)) take(entry)
      })
    }
  }
  if (subjects.size === 0)
    throw new SyncRefused(
      'directory',
      `the search below "${base}" finds no user: see userSearchFilter, uuidAttribute, and what the bind user may read`,
    )
  return {
    mode,
    people: [...people.values()],
    noPeople,
    subjects,
    usernames,
    primaryGroups,
    mark: protocol === 'ad' ? usn : mark,
    markOf,
  }
}
