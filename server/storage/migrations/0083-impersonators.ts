/** Sessions in which an administrator acts as a user end with those of the administrator, and are found by that name. */

import type { Migration } from './migration.ts'

export const impersonators: Migration = {
  name: '0083-impersonators',
  statements: () => [
    `create index sessions_impersonator on sessions (impersonator) where impersonator is not null`,
  ],
}
