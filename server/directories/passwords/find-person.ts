/** Finds the entry of one user, by name or by what never changes of it. */

import type { Connection } from '../connection/connection.ts'
import { DirectoryAway, DirectoryRefused, resultCodes } from '../connection/errors.ts'
import type { Directory } from '../directory.ts'
import { isBelow } from '../entries/dn.ts'
import { type Entry, idValueOf } from '../entries/entry.ts'
import { filterForAll, filterForName, withId } from '../entries/filter.ts'
import { isPerson, type Person, personAttributes, personOf } from '../entries/person.ts'
import { countingAttributes } from './lockout.ts'

export interface FoundPerson {
  readonly person: Person
  readonly entry: Entry
}

export type Wanted = { readonly name: string } | { readonly subject: string }

const filterFor = ({ userSearchFilter, attributes }: Directory, wanted: Wanted) =>
  'name' in wanted
    ? filterForName(userSearchFilter, wanted.name)
    : withId(
        filterForAll(userSearchFilter),
        attributes.uuid,
        idValueOf(attributes.uuid, wanted.subject),
      )

/** Undefined where there is none, or more than one: a name that two users have identifies neither. */
export const findPerson = async (
  connection: Connection,
  directory: Directory,
  wanted: Wanted,
): Promise<FoundPerson | undefined> => {
  const { code, entries } = await connection.search({
    base: directory.userSearchBase,
    filter: filterFor(directory, wanted),
    attributes: [...personAttributes(directory), ...countingAttributes(directory)],
    sizeLimit: 2,
  })
  if (code === resultCodes.busy || code === resultCodes.unavailable)
    throw new DirectoryAway('the directory is busy or unavailable')
  if (code !== resultCodes.success && code !== resultCodes.sizeLimitExceeded)
    throw new DirectoryRefused(`search below "${directory.userSearchBase}"`, code)
  const [entry] = entries
  if (!entry || entries.length > 1) return undefined
  // An entry from outside the search base is not a user of the realm (CVE-2026-16071).
  if (!isBelow(entry.dn, directory.userSearchBase)) return undefined
  const person = personOf(directory, entry)
  if (!isPerson(person)) return undefined
  if ('subject' in wanted && person.subject !== wanted.subject) return undefined
  return { person, entry }
}
