/** Data behind the rest of the admin surface: members of organizations, tokens for provisioning and devices. */

import type { Migration } from './migration.ts'

export const nouns: Migration = {
  name: '0002-nouns',
  statements: ({ text, json }) => [
    `create table organization_members (
      user_id ${text} not null references users (id) on delete cascade,
      organization_id ${text} not null references documents (id) on delete cascade,
      joined_at bigint not null,
      primary key (user_id, organization_id))`,
    `create index organization_members_organization on organization_members (organization_id)`,

    // One table for what is presented as a bearer and stored as a hash: initial access tokens and SCIM tokens.
    `create table provisioning_tokens (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      purpose ${text} not null, hash ${text} not null, label ${json},
      created_at bigint not null, expires_at bigint, uses bigint, remaining bigint)`,
    `create unique index provisioning_tokens_hash on provisioning_tokens (hash)`,
    `create index provisioning_tokens_realm on provisioning_tokens (realm, purpose, created_at)`,

    `create table push_tokens (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      device_id ${text} not null, platform ${text} not null, driver ${text} not null,
      token ${json} not null, token_hint ${text} not null,
      created_at bigint not null, last_seen_at bigint)`,
    `create unique index push_tokens_device on push_tokens (user_id, device_id)`,
    `create index push_tokens_realm on push_tokens (realm, created_at)`,

    // The secret a client had before, while both are good.
    `create table client_secrets (
      client_id ${text} primary key references documents (id) on delete cascade,
      realm ${text} not null,
      created_at bigint not null, previous ${json}, previous_expires_at bigint)`,

    `create table agent_states (
      agent_id ${text} primary key references documents (id) on delete cascade,
      status ${text} not null, last_reviewed_at bigint, next_review_at bigint, last_used_at bigint)`,

    // Events counted in arrears: up to the mark of a realm, by type and outcome.
    `create table audit_marks (
      realm ${text} primary key references realms (name) on delete cascade, upto bigint not null)`,
    `create table audit_totals (
      realm ${text} not null references realms (name) on delete cascade,
      type ${text} not null, outcome ${text} not null, events bigint not null,
      primary key (realm, type, outcome))`,
    // A search by address answers in the order of usernames.
    `drop index users_email`,
    `create index users_email on users (realm, email_key, username_key)`,

    `create index audit_events_category on audit_events (realm, category, id)`,
    `create index audit_events_outcome on audit_events (realm, outcome, id)`,
    `create index audit_events_at on audit_events (realm, at)`,
  ],
}
