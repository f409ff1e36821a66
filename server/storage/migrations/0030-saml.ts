/** The SAML identity provider: requests that wait, names of users at service providers, and the sessions they have there. */

import type { Migration } from './migration.ts'

export const saml: Migration = {
  name: '0030-saml',
  statements: ({ text }) => [
    `create table saml_requests (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      client_id ${text} not null references documents (id) on delete cascade,
      data ${text} not null,
      expires_at bigint not null)`,
    `create index saml_requests_expiry on saml_requests (expires_at)`,
    `create table saml_name_ids (
      client_id ${text} not null references documents (id) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      value ${text} not null,
      created_at bigint not null,
      primary key (client_id, user_id))`,
    `create index saml_name_ids_user on saml_name_ids (user_id)`,
    `create table saml_sessions (
      sid ${text} not null,
      client_id ${text} not null references documents (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      name_id ${text} not null,
      name_id_format ${text} not null,
      session_index ${text} not null,
      since bigint not null,
      expires_at bigint not null,
      primary key (sid, client_id))`,
    `create index saml_sessions_expiry on saml_sessions (expires_at)`,
    `create index saml_sessions_user on saml_sessions (user_id)`,
  ],
}
