/** Agents: the owner as a user, when the owner was reminded, and the users whom agents act for. */

import type { Migration } from './migration.ts'

export const agents: Migration = {
  name: '0062-agents',
  statements: ({ text, json }) => [
    `alter table agent_states add column owner_user_id ${text}`,
    // A quotation mark within a value is escaped, so that the text of a field begins nowhere else.
    `update agent_states set owner_user_id = (
      select users.id from users join documents on documents.realm = users.realm
      where documents.id = agent_states.agent_id
      and documents.body like '%"ownerUserId":"' || users.id || '"%')`,
    `alter table agent_states add column reminded_at bigint`,
    `alter table agent_states add column noted_rule ${text}`,
    // A row stays when its user revokes it: the agent does not begin again by itself.
    `create table agent_delegations (
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      agent_id ${text} not null references documents (id) on delete cascade,
      client_id ${text} not null references documents (id) on delete cascade,
      scopes ${json} not null, created_at bigint not null, last_used_at bigint not null,
      revoked_at bigint,
      primary key (user_id, agent_id))`,
    `create index agent_delegations_agent on agent_delegations (agent_id)`,
    `create index agent_delegations_client on agent_delegations (client_id)`,
  ],
}
