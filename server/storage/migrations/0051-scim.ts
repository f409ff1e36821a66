/** Inbound provisioning by SCIM: what its tokens may do, and whose resources are known by which name. */

import type { Migration } from './migration.ts'

export const scim: Migration = {
  name: '0051-scim',
  statements: ({ text }) => [
    `create table scim_tokens (
      token_id ${text} primary key references provisioning_tokens (id) on delete cascade,
      sender ${text} not null, scopes ${text} not null, last_used_at bigint)`,

    // A sender knows a resource by its own name; two senders may use the same one.
    `create table scim_users (
      user_id ${text} not null references users (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      sender ${text} not null, external_id ${text},
      primary key (user_id, sender))`,
    `create unique index scim_users_external on scim_users (realm, sender, external_id)`,
    `create table scim_groups (
      group_id ${text} not null references documents (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      sender ${text} not null, external_id ${text},
      primary key (group_id, sender))`,
    `create unique index scim_groups_external on scim_groups (realm, sender, external_id)`,
    // Members are no part of the document of a group: its ETag counts their changes here.
    `create table scim_group_versions (
      group_id ${text} primary key references documents (id) on delete cascade,
      version bigint not null, updated_at bigint not null)`,

    // Pages in the order of ids, and the attributes that filters may name.
    `create index users_realm_id on users (realm, id)`,
    `create index users_family_name on users (realm, lower(last_name))`,
    `create index users_given_name on users (realm, lower(first_name))`,
    `create index users_updated_at on users (realm, updated_at)`,
  ],
}
