/** Clients that are to be told of the end of a session, and how often a refresh token was used. */

import type { Migration } from './migration.ts'

export const logouts: Migration = {
  name: '0005-logouts',
  statements: ({ text }) => [
    `alter table refresh_tokens add column uses bigint not null default 0`,

    // No reference to the session and its user: both may be deleted when the client is notified.
    `alter table session_clients add column user_id ${text}`,
    `alter table session_clients add column attempts bigint not null default 0`,
    `alter table session_clients add column next_at bigint`,
    `create index session_clients_next on session_clients (next_at) where next_at is not null`,
  ],
}
