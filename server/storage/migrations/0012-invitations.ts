/** Invitations into organizations, by mail: the link is kept as a digest, until it is used or long expired. */

import type { Migration } from './migration.ts'

export const invitations: Migration = {
  name: '0012-invitations',
  statements: ({ text, json }) => [
    `create table invitations (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      organization_id ${text} not null references documents (id) on delete cascade,
      email ${json} not null,
      email_key ${text} not null,
      digest ${text} not null,
      accepted_by ${text} references users (id) on delete cascade,
      created_at bigint not null,
      expires_at bigint not null)`,
    `create unique index invitations_digest on invitations (digest)`,
    `create unique index invitations_address on invitations (organization_id, email_key)`,
    `create index invitations_person on invitations (realm, email_key)`,
    `create index invitations_accepted on invitations (accepted_by)`,
    `create index invitations_expired on invitations (expires_at)`,
  ],
}
