/** Which roles users hold because they were the default when the users were made: documents say nothing of those. */

import type { Migration } from './migration.ts'

export const defaultRoles: Migration = {
  name: '0025-default-roles',
  statements: () => [`alter table user_roles add column by_default bigint not null default 0`],
}
