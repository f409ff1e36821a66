/** Erasure requests of managed users, which an administrator carries out. */

import type { Migration } from './migration.ts'

export const erasureRequests: Migration = {
  name: '0013-erasure-requests',
  statements: ({ text }) => [
    `create table erasure_requests (
      user_id ${text} primary key references users (id) on delete cascade,
      realm ${text} not null,
      requested_at bigint not null)`,
    `create index erasure_requests_of on erasure_requests (realm, requested_at)`,
  ],
}
