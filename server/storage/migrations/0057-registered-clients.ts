/** Clients that registered themselves (RFC 7591), and clients with metadata documents. */

import type { Migration } from './migration.ts'

export const registeredClients: Migration = {
  name: '0057-registered-clients',
  statements: ({ text, json }) => [
    `create table registered_clients (
      client_id ${text} primary key references documents (id) on delete cascade,
      realm ${text} not null references realms (name) on delete cascade,
      source ${text} not null,
      token_hash ${text},
      metadata ${json} not null,
      registered_at bigint not null,
      last_used_at bigint not null,
      fetched_at bigint,
      fresh_until bigint)`,
    `create index registered_clients_realm on registered_clients (realm, source, last_used_at)`,
  ],
}
