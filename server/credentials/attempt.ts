/** An attempt with a name and a password: the finding of the check, its consequences, and its end. */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { DirectoryReason } from './refusals.ts'

export interface Attempt {
  readonly realm: string
  readonly settings: SettingsDoc
  readonly name: string
  readonly password: string
  readonly address: string
}

export interface Checked {
  readonly matches: boolean
  readonly statements: readonly Statement[]
  /** What a directory found out. */
  readonly found?: {
    /** The user, where the check found one. */
    readonly user?: UserRow
    /** Committed before anything else: makes the user who signs in for the first time. */
    readonly first?: readonly Statement[]
    readonly events?: readonly AuditEvent[]
    /** Why it does not match. */
    readonly refusal?: { readonly reason: DirectoryReason; readonly directory: string }
  }
}

/** What a right password or proof allows: committed in one transaction with the attempt. */
export interface Acceptance<T> {
  readonly statements: readonly Statement[]
  readonly events: readonly AuditEvent[]
  readonly value: T
  /**
   * True while further factors are required. Only a complete sign-in resets the failures: otherwise an attacker with the
   * password could reset the count of wrong codes with it, and guess codes without limit.
   */
  readonly partial?: boolean
  /** A guard among the statements that fails when the same sign-in went on elsewhere: no failure of the user. */
  readonly ownGuard?: string
}

/** `isVouched`: a directory has checked the password, so that it is no proof of the realm's own. */
export type Accept<T> = (
  user: UserRow,
  isVouched: boolean,
) => Acceptance<T> | Promise<Acceptance<T>>

export type AttemptResult<T> =
  | { readonly outcome: 'success'; readonly user: UserRow; readonly value: T }
  /** For whatever reason: the caller is not told, so that it cannot tell. */
  | {
      readonly outcome: 'failure'
      /** The password was right, and has to be changed in this directory first. */
      readonly changeAt?: string
    }
  /** Nothing was found out: the directory that keeps the password cannot be asked. */
  | { readonly outcome: 'away'; readonly directory: string }
  /** Nothing was evaluated: too many sign in at once. */
  | { readonly outcome: 'busy' }
