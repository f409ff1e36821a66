/** What a sync would do with one user. */

import type { UserChange } from '#schemas/wire/directory-sync.ts'
import type { DirectoryAbsenceRow } from '#server/storage/tables/directory-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'

export interface PlannedUser extends UserChange {
  readonly subject: string
  readonly before: UserRow | undefined
  /** Undefined where the user is deleted. */
  readonly after: UserRow | undefined
  /** The user is disabled by this, or enabled again after an earlier sync had disabled them. */
  readonly absence?: DirectoryAbsenceRow['cause'] | 'over'
  /** Changes of one number exchange names: all of them are written, or none. */
  readonly together?: number
}
