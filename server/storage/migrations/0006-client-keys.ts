/** Clients may sign with keys of their own, and the next key of each signer is published before it signs. */

import type { Migration } from './migration.ts'

export const clientKeys: Migration = {
  name: '0006-client-keys',
  statements: ({ text }) => [
    // Null where the key is the realm's.
    `alter table signing_keys add column client_id ${text} references documents (id) on delete cascade`,
    `create index signing_keys_client on signing_keys (client_id)`,
    // One key that signs and one that will, for the realm and for each client.
    `drop index signing_keys_active`,
    `create unique index signing_keys_current on signing_keys (realm, coalesce(client_id, ''), status)
      where status <> 'PASSIVE'`,
  ],
}
