/** Why an attempt is refused, and which errors of its commit mean that something changed meanwhile. */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { ConstraintError, GuardFailedError } from '#server/storage/contract.ts'
import type { LoginUser } from '#server/users/users.ts'

/** Why a directory lets a user not in; `password-expired` and `password-must-change` say that the password was right. */
export type DirectoryReason =
  | 'wrong-password'
  | 'unknown-user'
  | 'user-disabled'
  | 'user-locked'
  | 'user-expired'
  | 'password-expired'
  | 'password-must-change'
  | 'too-many-failures'
  | 'name-taken'

export type FailureReason =
  | 'unknown-user'
  | `wrong-${string}`
  | 'user-disabled'
  | 'user-locked'
  | 'changed-meanwhile'
  | 'too-many-failures'
  | 'directory-unavailable'
  | DirectoryReason

/** A guard or a foreign key on a deleted user fails, depending on the database. */
export const isChange = (error: unknown): boolean =>
  error instanceof GuardFailedError || isForeignKey(error)

export const isForeignKey = (error: unknown): error is ConstraintError =>
  error instanceof ConstraintError && error.constraint === 'foreign-key'

export const isGuard = (error: unknown, guard: string | undefined): boolean =>
  error instanceof GuardFailedError && error.guard === guard

/** The user has given the right password, and may know what to do. */
export const mustChange: ReadonlySet<FailureReason> = new Set([
  'password-expired',
  'password-must-change',
])

/** Our count locks first: a guess here must not lock the account of the user in the directory. */
export const belowLock = (settings: SettingsDoc, mostFailures: number | undefined): SettingsDoc =>
  mostFailures === undefined
    ? settings
    : { ...settings, failureFactor: Math.max(1, Math.min(settings.failureFactor, mostFailures)) }

/** Asked after the hash, never before: the time must not tell. */
export const refusalOf = (
  login: LoginUser | undefined,
  matches: boolean,
  method: string,
): FailureReason | undefined => {
  if (login === undefined) return 'unknown-user'
  if (!matches) return `wrong-${method}`
  if (login.user.enabled !== 1) return 'user-disabled'
  if (login.user.locked !== 1) return undefined
  return 'user-locked'
}
