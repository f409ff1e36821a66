/** What an issuer must remember: requests in progress, codes, grants with their refresh tokens, consents. */

import type { Migration } from './migration.ts'

export const tokens: Migration = {
  name: '0004-tokens',
  statements: ({ text, json }) => {
    const realm = `realm ${text} not null references realms (name) on delete cascade`
    const client = `client_id ${text} not null references documents (id) on delete cascade`
    const user = `user_id ${text} references users (id) on delete cascade`
    return [
      // An authorize request that waits for its user.
      `create table authorizations (
        id ${text} primary key, ${realm}, ${client}, data ${json} not null, expires_at bigint not null)`,
      `create index authorizations_expiry on authorizations (expires_at)`,
      `create table pushed_requests (
        id ${text} primary key, ${realm}, ${client}, data ${json} not null, expires_at bigint not null)`,
      `create index pushed_requests_expiry on pushed_requests (expires_at)`,

      // What one authorization issued: revoking it ends all of it.
      `create table token_grants (
        id ${text} primary key, ${realm}, ${client}, ${user}, sid ${text},
        offline bigint not null, scope ${json} not null, data ${json} not null,
        created_at bigint not null, last_used_at bigint not null, expires_at bigint not null)`,
      `create index token_grants_user on token_grants (user_id)`,
      `create index token_grants_client on token_grants (client_id)`,
      `create index token_grants_sid on token_grants (sid)`,
      `create index token_grants_expiry on token_grants (expires_at)`,
      // A used code stays until it expires, so that a second use is noticed.
      `create table authorization_codes (
        id ${text} primary key, ${realm}, ${client}, ${user}, grant_id ${text} not null,
        data ${json} not null, expires_at bigint not null, used_at bigint)`,
      `create index authorization_codes_expiry on authorization_codes (expires_at)`,
      `create table refresh_tokens (
        id ${text} primary key,
        grant_id ${text} not null references token_grants (id) on delete cascade,
        created_at bigint not null, expires_at bigint not null, used_at bigint)`,
      `create index refresh_tokens_grant on refresh_tokens (grant_id)`,
      `create index refresh_tokens_expiry on refresh_tokens (expires_at)`,
      `create table revoked_tokens (
        jti ${text} primary key, ${realm}, expires_at bigint not null)`,
      `create index revoked_tokens_expiry on revoked_tokens (expires_at)`,

      // Whatever may be presented once: assertions, proofs, request objects.
      `create table replay_guards (
        ${realm}, purpose ${text} not null, id ${text} not null, expires_at bigint not null,
        primary key (realm, purpose, id))`,
      `create index replay_guards_expiry on replay_guards (expires_at)`,

      `create table device_requests (
        id ${text} primary key, ${realm}, user_code ${text} not null, ${client}, ${user},
        data ${json} not null, status ${text} not null, polled_at bigint not null,
        poll_interval bigint not null, expires_at bigint not null)`,
      `create unique index device_requests_user_code on device_requests (realm, user_code)`,
      `create index device_requests_expiry on device_requests (expires_at)`,
      `create table ciba_requests (
        id ${text} primary key, ${realm}, ${client}, ${user},
        data ${json} not null, status ${text} not null, polled_at bigint not null,
        poll_interval bigint not null, expires_at bigint not null)`,
      `create index ciba_requests_user on ciba_requests (user_id)`,
      `create index ciba_requests_expiry on ciba_requests (expires_at)`,

      `create table consents (
        ${realm},
        user_id ${text} not null references users (id) on delete cascade, ${client},
        scopes ${json} not null, created_at bigint not null, updated_at bigint not null,
        primary key (user_id, client_id))`,
      `create index consents_client on consents (client_id)`,
      // The clients to notify when a session ends.
      `create table session_clients (
        sid ${text} not null, ${client}, ${realm}, since bigint not null,
        primary key (sid, client_id))`,
      `create index session_clients_client on session_clients (client_id)`,
      // Nothing issued before is good any more: of a realm, a client or a user.
      `create table not_before (
        ${realm}, subject_kind ${text} not null, subject_id ${text} not null, at bigint not null,
        primary key (realm, subject_kind, subject_id))`,
    ]
  },
}
