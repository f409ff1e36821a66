/** Renames of a realm are found without a look at all that ever changed in it. */

import type { Migration } from './migration.ts'

export const renames: Migration = {
  name: '0026-renames',
  statements: () => [
    `create index revision_operations_renamed on revision_operations (realm, revision, n) where op = 'rename'`,
  ],
}
