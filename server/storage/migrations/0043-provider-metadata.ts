/** What was read of the metadata of identity providers. */

import type { Migration } from './migration.ts'

export const providerMetadata: Migration = {
  name: '0043-provider-metadata',
  statements: ({ text }) => [
    `create table identity_provider_metadata (
      provider_id ${text} primary key references documents (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      source ${text} not null,
      metadata ${text},
      next_at bigint not null,
      read_at bigint,
      valid_until bigint,
      failed_at bigint,
      failure ${text})`,
    `create index identity_provider_metadata_realm on identity_provider_metadata (realm)`,
  ],
}
