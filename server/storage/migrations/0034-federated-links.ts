/**
 * The accounts at identity providers and in directories that belong to users. A link refers to the document of its provider
 * without a foreign key: a rollback that restores a deleted provider, and a provider that replaces it under the same alias,
 * find the links again.
 */

import type { Migration } from './migration.ts'

export const federatedLinks: Migration = {
  name: '0034-federated-links',
  statements: ({ text, json }) => [
    `create table federated_links (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      provider ${text} not null,
      alias ${text} not null,
      issuer ${text} not null,
      subject ${text} not null,
      user_id ${text} not null references users (id) on delete cascade,
      username ${text},
      created_at bigint not null,
      last_login_at bigint,
      tokens ${json})`,
    `create unique index federated_links_subject on federated_links (realm, provider, issuer, subject)`,
    `create unique index federated_links_user on federated_links (user_id, provider)`,
  ],
}
