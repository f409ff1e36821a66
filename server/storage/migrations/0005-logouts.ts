/** Clients that are to be told of the end of a session, and how often a refresh token was used. */

import type { Migration } from './migration.ts'

export const logouts: Migration = {
  name: '0005-logouts',
  statements: ({ text }) => [
    `alter table refresh_tokens add column uses bigint not null default 0`,

    // No reference to the session and its user: both may be gone when the client is told.
    `create table logout_deliveries (
      sid ${text} not null,
      client_id ${text} not null references documents (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null, attempts bigint not null, next_at bigint not null,
      expires_at bigint not null, primary key (sid, client_id))`,
    `create index logout_deliveries_next on logout_deliveries (next_at)`,
    `create index logout_deliveries_expiry on logout_deliveries (expires_at)`,
  ],
}
