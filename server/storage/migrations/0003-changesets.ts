/** What changesets need: documents that nothing deletes, and the answers that a repeated request gets again. */

import type { Migration } from './migration.ts'

export const changesets: Migration = {
  name: '0003-changesets',
  statements: ({ text, json }) => [
    `alter table documents add column protected bigint not null default 0`,

    // For queries for deletions since a revision, without a scan of all changes.
    `create index revision_operations_deleted on revision_operations (realm, revision, n) where op = 'delete'`,

    `create table idempotency_keys (
      realm ${text} not null references realms (name) on delete cascade,
      key ${text} not null, request_hash ${text} not null, reply ${json} not null, at bigint not null,
      primary key (realm, key))`,
    `create index idempotency_keys_at on idempotency_keys (at)`,
  ],
}
