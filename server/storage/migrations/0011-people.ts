/** The organization that a session is for, and the browsers that users have signed in with. */

import type { Migration } from './migration.ts'

export const people: Migration = {
  name: '0011-people',
  statements: ({ text }) => [
    `alter table sessions add column organization_id ${text}`,

    `create table known_devices (
      user_id ${text} not null references users (id) on delete cascade,
      device ${text} not null,
      last_seen bigint not null,
      primary key (user_id, device))`,
    `create index known_devices_seen on known_devices (last_seen)`,
  ],
}
