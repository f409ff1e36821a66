/**
 * Single logout and artifacts of the SAML identity provider. A session at a service provider outlives its user: an erasure
 * still has to tell the service provider, by the name that it knows the user by.
 */

import type { Migration } from './migration.ts'

export const samlLogout: Migration = {
  name: '0031-saml-logout',
  statements: ({ text, json }) => [
    `alter table saml_sessions rename to saml_sessions_before`,
    `create table saml_sessions (
      sid ${text} not null,
      client_id ${text} not null references documents (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null,
      name_id ${text} not null,
      name_id_format ${text} not null,
      session_index ${text} not null,
      since bigint not null,
      expires_at bigint not null,
      logout_request ${text},
      primary key (sid, client_id))`,
    `insert into saml_sessions
      (sid, client_id, realm, user_id, name_id, name_id_format, session_index, since, expires_at)
      select sid, client_id, realm, user_id, name_id, name_id_format, session_index, since, expires_at
      from saml_sessions_before`,
    `drop table saml_sessions_before`,
    `create index saml_sessions_expiry on saml_sessions (expires_at)`,
    `create index saml_sessions_name on saml_sessions (client_id, name_id)`,
    `create index saml_sessions_logout on saml_sessions (logout_request) where logout_request is not null`,
    `create table saml_logouts (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      data ${json} not null,
      begun_at bigint,
      expires_at bigint not null)`,
    `create index saml_logouts_expiry on saml_logouts (expires_at)`,
    `create table saml_artifacts (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      client_id ${text} not null references documents (id) on delete cascade,
      data ${json} not null,
      expires_at bigint not null)`,
    `create index saml_artifacts_expiry on saml_artifacts (expires_at)`,
  ],
}
