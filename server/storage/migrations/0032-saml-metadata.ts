/** What was read of the metadata of service providers, and the keys that signed for each. */

import type { Migration } from './migration.ts'

export const samlMetadata: Migration = {
  name: '0032-saml-metadata',
  statements: ({ text }) => [
    `create table saml_metadata_reads (
      client_id ${text} primary key references documents (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      url ${text} not null,
      next_at bigint not null,
      read_at bigint,
      valid_until bigint,
      failed_at bigint,
      failure ${text})`,
    `create index saml_metadata_reads_realm on saml_metadata_reads (realm)`,
    `create table saml_key_uses (
      client_id ${text} not null references documents (id) on delete cascade,
      kid ${text} not null,
      realm ${text} not null references realms (name) on delete cascade,
      used_at bigint not null,
      primary key (client_id, kid))`,
    `create index saml_key_uses_realm on saml_key_uses (realm, used_at)`,
  ],
}
