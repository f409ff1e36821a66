/**
 * Provisioning of other services over SCIM: users that changed and that no follower has seen yet; what each target has of each
 * user and group; the members that its groups have; and how far the target is.
 */

import type { Migration } from './migration.ts'

export const scimTargets: Migration = {
  name: '0054-scim-targets',
  statements: ({ text, json, identity }) => [
    // No reference to the user: that one was deleted is a change too.
    `create table user_changes (
      id ${identity},
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null)`,
    `create table scim_targets (
      target_id ${text} primary key references documents (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      turn bigint not null,
      version bigint not null,
      marked_after ${text},
      groups_mark ${text},
      removals_allowed bigint,
      held bigint not null,
      synced_at bigint,
      error ${json},
      error_at bigint)`,
    `create table scim_resources (
      target_id ${text} not null references documents (id) on delete cascade,
      kind ${text} not null,
      local_id ${text} not null,
      remote_id ${text},
      attempted bigint not null,
      present bigint not null,
      sent ${json},
      changed bigint not null,
      done bigint not null,
      due_at bigint not null,
      failures bigint not null,
      error ${json},
      primary key (target_id, kind, local_id))`,
    // In the order in which they are sent: what the target already has goes first.
    `create index scim_resources_due on scim_resources
      (target_id, kind, (case when remote_id is null then 1 else 0 end), due_at) where changed > done`,
    `create index scim_resources_remote on scim_resources (target_id, remote_id)`,
    `create table scim_members (
      target_id ${text} not null references documents (id) on delete cascade,
      group_id ${text} not null,
      user_id ${text} not null,
      primary key (target_id, group_id, user_id))`,
    `create index scim_members_user on scim_members (target_id, user_id)`,
  ],
}
