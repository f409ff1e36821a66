/** A user of the realm who has an entry in a directory: what of the entry becomes part of the user. */

import type { UserFields } from '#schemas/wire/records.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { nameOf } from '#server/users/names.ts'
import type { Directory } from './directory.ts'
import type { Person } from './entries/person.ts'

/** The issuer of every link to a directory: the subject alone names the entry, at whatever address the directory is. */
export const linkIssuer = 'directory'

type Profile = Pick<UserFields, 'email' | 'emailVerified' | 'firstName' | 'lastName'>

export const profileOf = (
  { trustEmail }: Pick<Directory, 'trustEmail'>,
  { email, firstName, lastName }: Person,
): Profile => ({ email, emailVerified: trustEmail && email !== null, firstName, lastName })

/** The profile that a user who exists gets: an address that was verified here stays verified. */
export const profileAfter = (
  row: UserRow,
  directory: Pick<Directory, 'trustEmail'>,
  person: Person,
): Profile => {
  const profile = profileOf(directory, person)
  const isSame = profile.email !== null && row.email_key === nameOf(profile.email).key
  return {
    ...profile,
    emailVerified: profile.emailVerified || (isSame && row.email_verified === 1),
  }
}

/** Whether the user is, letter by letter, as the entry says: what most are, so that nothing has to be normalized. */
export const isLike = (
  row: UserRow,
  { trustEmail }: Pick<Directory, 'trustEmail'>,
  { username, email, firstName, lastName }: Person,
): boolean =>
  row.username === username &&
  row.email === email &&
  row.first_name === firstName &&
  row.last_name === lastName &&
  (row.email_verified === 1 || !trustEmail || email === null)

/** Whether nothing of the profile would change. */
export const hasProfile = (
  row: UserRow,
  directory: Pick<Directory, 'trustEmail'>,
  person: Person,
): boolean => {
  const { email, emailVerified, firstName, lastName } = profileAfter(row, directory, person)
  return (
    row.email === (email === null ? null : nameOf(email).value) &&
    row.email_verified === (emailVerified ? 1 : 0) &&
    row.first_name === firstName &&
    row.last_name === lastName
  )
}
