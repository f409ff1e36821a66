/**
 * Sign-ins through identity providers: trips of browsers to a provider, the sessions there that sessions here came from, and
 * the roles and groups that a mapper of a provider gave, which the same mapper may take away again.
 */

import type { Migration } from './migration.ts'

export const broker: Migration = {
  name: '0035-broker',
  statements: ({ text }) => [
    `create table broker_trips (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      provider ${text} not null references documents (id) on delete cascade,
      browser ${text} not null,
      data ${text} not null,
      arrival ${text},
      expires_at bigint not null)`,
    `create index broker_trips_expiry on broker_trips (expires_at)`,
    `create table broker_sessions (
      sid ${text} not null,
      provider ${text} not null references documents (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      issuer ${text} not null,
      subject ${text} not null,
      upstream_sid ${text},
      data ${text} not null,
      created_at bigint not null,
      expires_at bigint not null,
      primary key (sid, provider))`,
    `create index broker_sessions_expiry on broker_sessions (expires_at)`,
    `create index broker_sessions_subject on broker_sessions (provider, issuer, subject)`,
    `create table mapped_memberships (
      user_id ${text} not null references users (id) on delete cascade,
      provider ${text} not null,
      kind ${text} not null,
      target_id ${text} not null references documents (id) on delete cascade,
      primary key (user_id, provider, kind, target_id))`,
  ],
}
