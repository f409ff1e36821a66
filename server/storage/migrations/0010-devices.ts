/** Devices that are being enrolled, sign-ins that wait for a word from elsewhere, and transactions to be signed. */

import type { Migration } from './migration.ts'

export const devices: Migration = {
  name: '0010-devices',
  statements: ({ text, json }) => [
    `create table device_enrolments (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      user_id ${text} not null references users (id) on delete cascade,
      label ${text},
      device_id ${text},
      challenge ${text},
      expires_at bigint not null)`,
    `create unique index device_enrolments_device on device_enrolments (device_id)`,
    `create index device_enrolments_user on device_enrolments (user_id)`,
    `create index device_enrolments_expires on device_enrolments (expires_at)`,

    `create table approvals (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      kind ${text} not null,
      user_id ${text} references users (id) on delete cascade,
      status ${text} not null,
      number ${text} not null,
      tries bigint not null,
      browser ${text} not null,
      sid ${text},
      client_name ${text},
      ip_address ${text} not null,
      created_at bigint not null,
      expires_at bigint not null)`,
    // One pending request per user, for any number of sign-ins.
    `create unique index approvals_pending on approvals (user_id)
      where kind = 'push' and status = 'PENDING'`,
    `create index approvals_user on approvals (user_id, created_at)`,
    `create index approvals_expires on approvals (expires_at)`,

    `create table transactions (
      id ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      client_id ${text} not null,
      user_id ${text} not null references users (id) on delete cascade,
      type ${text} not null,
      status ${text} not null,
      payload ${json} not null,
      display_text ${json} not null,
      hash ${text} not null,
      credential_id ${text},
      created_at bigint not null,
      expires_at bigint not null)`,
    `create index transactions_user on transactions (user_id)`,
    `create index transactions_expires on transactions (expires_at)`,
  ],
}
