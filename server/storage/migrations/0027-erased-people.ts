/** Keyed hashes of the names of declared users who were erased, so that no file brings them back unnoticed. */

import type { Migration } from './migration.ts'

export const erasedPeople: Migration = {
  name: '0027-erased-people',
  statements: ({ text }) => [
    `create table erased_people (
      realm ${text} not null references realms (name) on delete cascade,
      name ${text} not null,
      erased_at bigint not null,
      primary key (realm, name))`,
  ],
}
