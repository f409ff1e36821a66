/** Requests to sign out that came by POST from another site, until the browser comes back with its cookies. */

import type { Migration } from './migration.ts'

export const logoutRequests: Migration = {
  name: '0016-logout-requests',
  statements: ({ text, json }) => [
    // No client: a request need not name one, and one that was deleted may still have led to a session.
    `create table logout_requests (
      id ${text} primary key, realm ${text} not null references realms (name) on delete cascade,
      data ${json} not null, expires_at bigint not null)`,
    `create index logout_requests_expiry on logout_requests (expires_at)`,
  ],
}
