/** Sign-ins in progress, and how a session was signed in to. */

import type { Migration } from './migration.ts'

export const signIns: Migration = {
  name: '0009-sign-ins',
  statements: ({ text }) => [
    `create table sign_ins (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      browser ${text} not null,
      user_id ${text} references users (id) on delete cascade,
      state ${text} not null,
      version bigint not null,
      created_at bigint not null,
      expires_at bigint not null
    )`,
    `create index sign_ins_expires on sign_ins (expires_at)`,
    `create index sign_ins_user on sign_ins (user_id)`,

    `alter table sessions add column amr ${text} not null default '["pwd"]'`,
    `alter table sessions add column acr ${text} not null default '1'`,
    `alter table sessions add column impersonator ${text}`,

    // The last thing that was accepted of the credential: the time step of a code, the counter of a key.
    `alter table credentials add column used bigint not null default 0`,
  ],
}
