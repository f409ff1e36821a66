/** Confirmations of users for agents that ask for high-risk scopes. */

import type { Migration } from './migration.ts'

export const delegationConfirmations: Migration = {
  name: '0076-delegation-confirmations',
  statements: ({ text, json }) => [
    `create table delegation_confirmations (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      agent_id ${text} not null references documents (id) on delete cascade,
      scopes ${json} not null, targets ${json} not null, status ${text} not null,
      expires_at bigint not null)`,
    `create index delegation_confirmations_user on delegation_confirmations (user_id, agent_id)`,
    `create index delegation_confirmations_agent on delegation_confirmations (agent_id)`,
    `create index delegation_confirmations_expiry on delegation_confirmations (expires_at)`,
  ],
}
