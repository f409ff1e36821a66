/** Names of realms may have upper case, and no two differ in it alone. */

import type { Migration } from './migration.ts'

export const realmNames: Migration = {
  name: '0082-realm-names',
  statements: () => ['create unique index realms_folded_name on realms (lower(name))'],
}
