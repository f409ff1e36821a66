/** Streams of security events (Shared Signals Framework 1.0), their subjects, and events that wait for their receivers. */

import type { Migration } from './migration.ts'

export const signals: Migration = {
  name: '0067-signals',
  statements: ({ text, json }) => [
    `create table signal_streams (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      client_id ${text} not null references documents (id) on delete cascade,
      endpoint_url ${text},
      events ${json} not null,
      status ${text} not null,
      created_at bigint not null)`,
    `create unique index signal_streams_client on signal_streams (client_id)`,
    `create index signal_streams_realm on signal_streams (realm)`,
    `create table signal_subjects (
      stream_id ${text} not null references signal_streams (id) on delete cascade,
      subject ${text} not null,
      primary key (stream_id, subject))`,
    `create table signal_events (
      id ${text} primary key,
      stream_id ${text} not null references signal_streams (id) on delete cascade,
      claims ${json} not null,
      created_at bigint not null)`,
    `create index signal_events_stream on signal_events (stream_id, created_at)`,
    `create index signal_events_created on signal_events (created_at)`,
  ],
}
