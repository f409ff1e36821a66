/** How many messages went to an address, were caused from one, or left a realm lately. */

import type { Migration } from './migration.ts'

export const messageLimits: Migration = {
  name: '0023-message-limits',
  statements: ({ text }) => [
    `create table message_limits (
      realm ${text} not null references realms (name) on delete cascade,
      subject ${text} not null,
      full_at bigint not null,
      primary key (realm, subject))`,
    `create index message_limits_full on message_limits (full_at)`,
  ],
}
