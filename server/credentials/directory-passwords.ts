/**
 * Passwords that a directory keeps, as the sign-in sees them. `server/directories` implements the interface, and the
 * composition root connects the two: the sign-in is the same for both kinds of passwords.
 */

import type { AuditEvent } from '#server/audit/event.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Attempt, Checked } from './attempt.ts'
import type { MovingReservation } from './guessing/moving-reservation.ts'
import type { DirectoryReason } from './refusals.ts'

export type DirectoryCheck =
  | {
      readonly matches: true
      /** As stored, or as `first` stores it: of a user who signs in for the first time. */
      readonly user: UserRow
      /** Committed before anything that refers to the user. */
      readonly first: readonly Statement[]
      readonly events: readonly AuditEvent[]
    }
  | {
      readonly matches: false
      readonly reason: DirectoryReason
      /** The user of the entry, where there is one. */
      readonly user: UserRow | undefined
      /** The directory as pages call it, where the user has to be told. */
      readonly directory: string
    }

export interface DirectoryAccount {
  /** Failures that leave the account unlocked in the directory; undefined where it locks none, or does not say. */
  readonly mostFailures: number | undefined
  /**
   * `recognise` is called with the owner of the entry that a name led to, before the password is checked. Throws
   * `DirectoryUnavailable`, and what `recognise` throws.
   */
  check(password: string, recognise: MovingReservation['recognise']): Promise<DirectoryCheck>
}

export interface DirectoryPasswords {
  /** The account that a directory decides about; undefined where the password is kept here. */
  accountOf(
    attempt: Omit<Attempt, 'password'>,
    user: UserRow | undefined,
  ): Promise<DirectoryAccount | undefined>
  /** The directory that keeps the password of a user, as pages call it. */
  keeperOf(user: Pick<UserRow, 'id' | 'realm'>): Promise<string | undefined>
}

/** The check of a password as the sign-in settles it. */
export const checkedAt = (answer: DirectoryCheck): Checked => {
  if (answer.matches) {
    const { user, first, events } = answer
    return { matches: true, statements: [], found: { user, first, events } }
  }
  const { user } = answer
  return { matches: false, statements: [], found: { refusal: answer, ...(user && { user }) } }
}

/** Nothing was found out about the password. */
export class DirectoryUnavailable extends Error {
  override readonly name = 'DirectoryUnavailable'
  /** The directory as pages call it. */
  readonly directory: string
  constructor(directory: string, cause: unknown) {
    super(`directory "${directory}" cannot be asked`, { cause })
    this.directory = directory
  }
}
