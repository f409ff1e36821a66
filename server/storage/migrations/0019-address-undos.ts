/** Changes of an address that the old address can undo: the link is kept as a digest, until it is used or has expired. */

import type { Migration } from './migration.ts'

export const addressUndos: Migration = {
  name: '0019-address-undos',
  statements: ({ text, json }) => [
    `create table address_undos (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      email ${json} not null,
      email_verified bigint not null,
      digest ${text} not null,
      created_at bigint not null,
      expires_at bigint not null)`,
    `create unique index address_undos_digest on address_undos (digest)`,
    `create index address_undos_person on address_undos (user_id)`,
    `create index address_undos_expired on address_undos (expires_at)`,
  ],
}
