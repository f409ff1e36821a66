/** The fields that users change themselves: name and address. A new address must be verified again. */

import type { UserFields } from '#schemas/wire/records.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'

export type Profile = Pick<UserFields, 'email' | 'firstName' | 'lastName'>

/** The change of the user's record; empty text is none. */
export const profileChange = (
  user: UserRow,
  values: Profile,
): Profile & Pick<UserFields, 'emailVerified'> => {
  const email = values.email || null
  return {
    email,
    firstName: values.firstName || null,
    lastName: values.lastName || null,
    emailVerified: user.email_verified === 1 && email === user.email,
  }
}
