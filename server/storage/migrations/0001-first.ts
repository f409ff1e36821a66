/** The first schema. Never edited once released: a change is the next file. */

import type { Migration } from './migration.ts'

export const first: Migration = {
  name: '0001-first',
  statements: ({ text, json, identity }) => [
    `create table meta (name ${text} primary key, value ${json} not null)`,

    `create table realms (
      name ${text} primary key, revision bigint not null, seq bigint not null, created_at bigint not null)`,

    `create table documents (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      kind ${text} not null, key ${text} not null,
      parent_id ${text} references documents (id) on delete cascade,
      origin ${text} not null, owner ${text}, version bigint not null, hash ${text} not null,
      body ${json} not null, sealed ${json},
      created_at bigint not null, updated_at bigint not null)`,
    `create unique index documents_key on documents (realm, kind, key)`,
    `create index documents_parent on documents (parent_id)`,

    // PostgreSQL checks to_id row by row while a delete cascades. So a deletion of documents that refer to each
    // other, or a whole realm, deletes their references first.
    `create table document_refs (
      from_id ${text} not null references documents (id) on delete cascade,
      path ${text} not null,
      to_id ${text} not null references documents (id),
      primary key (from_id, path, to_id))`,
    `create index document_refs_to on document_refs (to_id)`,

    `create table revisions (
      realm ${text} not null references realms (name) on delete cascade,
      revision bigint not null, at bigint not null, actor ${text} not null, source ${text} not null,
      message ${json}, provenance ${json}, primary key (realm, revision))`,
    `create table revision_operations (
      realm ${text} not null, revision bigint not null, n bigint not null,
      op ${text} not null, kind ${text} not null, document_id ${text} not null, key ${text} not null,
      before ${json}, after ${json},
      primary key (realm, revision, n),
      foreign key (realm, revision) references revisions (realm, revision) on delete cascade)`,
    `create index revision_operations_document on revision_operations (document_id, revision)`,

    `create table changes (
      realm ${text} not null references realms (name) on delete cascade,
      seq bigint not null, kind ${text} not null, key ${text} not null,
      primary key (realm, seq, kind, key))`,

    `create table users (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      username ${text} not null, username_key ${text} not null,
      email ${text}, email_key ${text}, email_verified bigint not null,
      first_name ${text}, last_name ${text},
      enabled bigint not null, locked bigint not null, managed bigint not null,
      attributes ${json} not null, required_actions ${json} not null,
      version bigint not null, created_at bigint not null, updated_at bigint not null)`,
    `create unique index users_username on users (realm, username_key)`,
    `create index users_email on users (realm, email_key)`,
    `create table user_names (
      realm ${text} not null references realms (name) on delete cascade,
      name ${text} not null,
      user_id ${text} not null references users (id) on delete cascade,
      primary key (realm, name))`,
    `create index user_names_user on user_names (user_id)`,

    `create table credentials (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      type ${text} not null, label ${json}, priority bigint not null, secret ${json} not null,
      created_at bigint not null)`,
    `create index credentials_user on credentials (user_id, type)`,
    `create index credentials_realm on credentials (realm)`,
    `create table password_history (
      id ${text} primary key,
      user_id ${text} not null references users (id) on delete cascade,
      hash ${json} not null, created_at bigint not null)`,
    `create index password_history_user on password_history (user_id, created_at)`,

    `create table user_roles (
      user_id ${text} not null references users (id) on delete cascade,
      role_id ${text} not null references documents (id) on delete cascade,
      primary key (user_id, role_id))`,
    `create index user_roles_role on user_roles (role_id)`,
    `create table user_groups (
      user_id ${text} not null references users (id) on delete cascade,
      group_id ${text} not null references documents (id) on delete cascade,
      primary key (user_id, group_id))`,
    `create index user_groups_group on user_groups (group_id)`,

    `create table sessions (
      id ${text} primary key, sid ${text} not null,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      created_at bigint not null, last_access bigint not null, expires_at bigint not null,
      remember_me bigint not null, ip ${text} not null, user_agent ${json})`,
    `create unique index sessions_sid on sessions (sid)`,
    `create index sessions_user on sessions (user_id)`,
    `create index sessions_realm on sessions (realm, last_access)`,

    `create table login_guards (
      realm ${text} not null references realms (name) on delete cascade,
      subject ${text} not null, failures bigint not null, reserved bigint not null,
      reserved_at bigint not null, locked_until bigint not null, last_failure_at bigint not null,
      primary key (realm, subject))`,

    `create table signing_keys (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      algorithm ${text} not null, status ${text} not null, public_key ${json} not null,
      certificate ${json} not null, private_key ${json} not null,
      created_at bigint not null, rotated_at bigint)`,
    `create unique index signing_keys_active on signing_keys (realm) where status = 'ACTIVE'`,
    `create index signing_keys_realm on signing_keys (realm)`,

    // No foreign key to the realm: this is the table with the most inserts, and a deleted realm's
    // events are removed by the same transaction that removes the realm.
    `create table audit_events (
      id ${identity}, event_id ${text} not null, realm ${text} not null, at bigint not null,
      category ${text} not null, type ${text} not null, actor ${json} not null, source_ip ${text} not null,
      resource_type ${text}, resource_id ${json}, outcome ${text} not null, detail ${json}, revision bigint)`,
    `create index audit_events_realm on audit_events (realm, id)`,
    `create index audit_events_type on audit_events (realm, type, id)`,
    `create index audit_events_actor on audit_events (realm, actor, id)`,
  ],
}
