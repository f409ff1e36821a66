/** One try of a name and a password, and what the check of a secret found out. */

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
