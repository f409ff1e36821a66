/** Nodes no longer claim a PostgreSQL database for themselves. */

import type { Migration } from './migration.ts'

export const noSoleWriter: Migration = {
  name: '0033-no-sole-writer',
  statements: () => ['drop table sole_writer'],
}
