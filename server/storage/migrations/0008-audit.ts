/** The audit trail beyond its rows: personal data under keys that can be destroyed, emission, and the chain of blocks. */

import type { Migration } from './migration.ts'

export const audit: Migration = {
  name: '0008-audit',
  statements: ({ text, json }) => [
    `alter table audit_events add column sealed ${json}`,

    // Few events have a subject other than the actor; checked before a key is deleted.
    `create index audit_events_words on audit_events (resource_id)
      where sealed is not null and resource_type = 'users'`,

    // No reference to the user: the key of a deleted user stays until erasure or retention.
    `create table personal_keys (
      user_id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      key ${json})`,
    `create index personal_keys_realm on personal_keys (realm)`,

    // One row, of the whole server.
    `create table audit_emission (
      name ${text} primary key, enabled bigint not null, http_url ${json} not null,
      auth ${json}, categories ${json} not null, timeout_ms bigint not null)`,

    `create table audit_blocks (
      realm ${text} not null references realms (name) on delete cascade,
      n bigint not null, first_id bigint not null, last_id bigint not null, events bigint not null,
      newest_at bigint not null, sealed_at bigint not null, leaves ${json}, root ${text} not null,
      previous ${text} not null, hash ${text} not null,
      primary key (realm, n))`,
    `create index audit_blocks_ids on audit_blocks (realm, last_id, first_id)`,
    // The chain begins with the first event there is, not with the next one.
    `insert into outbox_cursors (name, position) values ('audit-chain', '0:0')`,
  ],
}
