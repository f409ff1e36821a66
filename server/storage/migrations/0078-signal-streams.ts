/** Several streams per receiver, with what SSF 1.0 §8.1.1 says of each; events that a stopped stream still sends. */

import type { Migration } from './migration.ts'

export const signalStreams: Migration = {
  name: '0078-signal-streams',
  statements: ({ json }) => [
    `drop index signal_streams_client`,
    // A number from 0 to one below the limit: concurrent requests cannot make more streams than there are numbers.
    `alter table signal_streams add column slot bigint not null default 0`,
    `create unique index signal_streams_slot on signal_streams (client_id, slot)`,
    `alter table signal_streams add column description ${json}`,
    `alter table signal_streams add column status_reason ${json}`,
    `alter table signal_streams add column authorization_header ${json}`,
    `alter table signal_streams add column verified_at bigint not null default 0`,
    `alter table signal_streams add column active_at bigint not null default 0`,
    `update signal_streams set active_at = created_at`,
    `alter table signal_subjects add column is_removed bigint not null default 0`,
    `alter table signal_events add column is_about_stream bigint not null default 0`,
  ],
}
