/** Policies by which owners open their resources to roles, groups, clients and users (UMA 2.0). */

import type { Migration } from './migration.ts'

export const ownerPolicies: Migration = {
  name: '0074-owner-policies',
  statements: ({ text, json }) => [
    `create table owner_policies (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      client_id ${text} not null references documents (id) on delete cascade,
      resource_id ${text} not null references documents (id) on delete cascade,
      owner_id ${text} not null references users (id) on delete cascade,
      name ${text} not null,
      description ${json},
      scopes ${json} not null,
      decision_strategy ${text} not null,
      needed bigint not null,
      created_at bigint not null)`,
    `create unique index owner_policies_name on owner_policies (resource_id, name)`,
    `create index owner_policies_realm on owner_policies (realm)`,
    `create index owner_policies_client on owner_policies (client_id)`,
    `create index owner_policies_owner on owner_policies (owner_id)`,
    `create table owner_policy_parties (
      id ${text} primary key,
      policy_id ${text} not null references owner_policies (id) on delete cascade,
      document_id ${text} references documents (id) on delete cascade,
      user_id ${text} references users (id) on delete cascade)`,
    `create index owner_policy_parties_policy on owner_policy_parties (policy_id)`,
    `create index owner_policy_parties_document on owner_policy_parties (document_id)`,
    `create index owner_policy_parties_user on owner_policy_parties (user_id)`,
  ],
}
