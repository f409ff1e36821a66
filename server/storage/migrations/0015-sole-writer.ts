/** The node that alone writes to a PostgreSQL database, if one does; 0033 drops it. */

import type { Migration } from './migration.ts'

export const soleWriter: Migration = {
  name: '0015-sole-writer',
  statements: ({ text }) => [
    `create table sole_writer (holder ${text}, asked bigint not null)`,
    `insert into sole_writer (holder, asked) values (null, 0)`,
  ],
}
