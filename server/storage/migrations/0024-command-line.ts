/**
 * The client of `iamctl login`, for realms that were created without it. It is added to the first revision, as if it had always
 * existed: a rollback does not delete it, and no plan becomes stale. An existing client of that name stays, and users then
 * sign in to the realm with a password or through another realm.
 */

import { keptOf } from './built-in-documents.ts'
import type { Migration } from './migration.ts'

// Not imported from schemas/access/command-line.ts, although it began as the same: a migration writes what this client was in
// its version, under the hash of that content. A later change of the client is another migration.
const key = 'iamctl-cli'
const hash = '39c8c1ca9285eac037bd0c8059c534799a196b412c7770a60db2ce4aa025baac'
const body = JSON.stringify({
  clientId: key,
  name: 'iamctl',
  description: 'The command line.',
  publicClient: true,
  grantTypes: ['authorization_code', 'device', 'refresh_token'],
  redirectUris: ['http://127.0.0.1/callback'],
  loopbackPorts: true,
  tokenEndpointAuthMethod: 'none',
  consentRequired: true,
  fullScopeAllowed: false,
  refreshTokenRotation: 'always',
  requirePkce: true,
  dpopBoundAccessTokens: true,
})
const kept = keptOf({ key, body })

export const commandLine: Migration = {
  name: '0024-command-line',
  statements: ({ text }) => [
    `create table added_clients (
      id ${text} not null, realm ${text} not null, created_at bigint not null)`,
    // The databases have no common way to draw an id. One of version 8 (RFC 9562 §5.8) that is else the same as one of
    // version 7 is as unique as that; it is a built-in role that lends it.
    `insert into added_clients (id, realm, created_at)
      select substr(min(id), 1, 14) || '8' || substr(min(id), 16), realm, min(created_at)
      from documents where kind = 'role' and origin = 'built-in'
      and realm not in (select realm from documents where kind = 'client' and key = '${key}')
      group by realm`,
    `insert into documents (id, realm, kind, key, origin, version, hash, body, created_at, updated_at)
      select id, realm, 'client', '${key}', 'built-in', 1, '${hash}', '${body}', created_at, created_at
      from added_clients`,
    `insert into revision_operations (realm, revision, n, op, kind, document_id, key, after)
      select realm, revision, (select max(n) + 1 from revision_operations as others
          where others.realm = revisions.realm and others.revision = revisions.revision),
        'create', 'client', id, '${key}', '${kept}'
      from added_clients join revisions using (realm)
      where revision = 1`,
    `update realms set seq = seq + 1 where name in (select realm from added_clients)`,
    `insert into changes (realm, seq, kind, key)
      select realm, seq, 'client', '${key}' from added_clients join realms on name = realm`,
    `drop table added_clients`,
  ],
}
