/** The audit trail beyond its rows: personal data under keys that can be destroyed, emission, and the chain of blocks. */

import type { Migration } from './migration.ts'

export const audit: Migration = {
  name: '0008-audit',
  statements: ({ text, json }) => [
    `alter table audit_events add column sealed ${json}`,

    // No reference to the user: whoever is deleted keeps the key until erasure or retention ends it.
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
      n bigint not null, upto ${text} not null, first_id bigint not null, last_id bigint not null,
      events bigint not null, newest_at bigint not null, leaves ${json},
      previous ${text} not null, hash ${text} not null, sealed_at bigint not null,
      primary key (realm, n))`,
  ],
}
