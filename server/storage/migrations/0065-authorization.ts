/** Permission tickets (UMA 2.0), and the resources that their owners share. */

import type { Migration } from './migration.ts'

export const authorization: Migration = {
  name: '0065-authorization',
  statements: ({ text, json }) => [
    `create table permission_tickets (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      client_id ${text} not null references documents (id) on delete cascade,
      requester_id ${text} references documents (id) on delete cascade,
      permissions ${json} not null,
      expires_at bigint not null)`,
    `create index permission_tickets_realm on permission_tickets (realm)`,
    `create index permission_tickets_client on permission_tickets (client_id)`,
    `create index permission_tickets_requester on permission_tickets (requester_id)`,
    `create index permission_tickets_expires on permission_tickets (expires_at)`,
    `create table resource_shares (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      client_id ${text} not null references documents (id) on delete cascade,
      resource_id ${text} not null references documents (id) on delete cascade,
      scope ${text} not null,
      owner_id ${text} not null references users (id) on delete cascade,
      requester_id ${text} not null references users (id) on delete cascade,
      granted bigint not null,
      created_at bigint not null,
      granted_at bigint)`,
    `create unique index resource_shares_once on resource_shares (resource_id, requester_id, scope)`,
    `create index resource_shares_realm on resource_shares (realm)`,
    `create index resource_shares_client on resource_shares (client_id)`,
    `create index resource_shares_owner on resource_shares (owner_id)`,
    `create index resource_shares_requester on resource_shares (requester_id, client_id)`,
  ],
}
