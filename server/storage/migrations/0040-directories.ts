/**
 * What syncs of directories remember: how far each has read, which node is at it, the users whom a sync has disabled, and the
 * groups that it has made. A provider is named without a foreign key, as in `federated_links`.
 */

import type { Migration } from './migration.ts'

export const directories: Migration = {
  name: '0040-directories',
  statements: ({ text, json }) => [
    `create table directory_syncs (
      provider ${text} primary key,
      realm ${text} not null references realms (name) on delete cascade,
      lease ${text},
      lease_until bigint not null,
      mark ${text},
      mark_of ${text},
      full_at bigint not null,
      finished_at bigint not null,
      result ${json})`,
    `create table directory_absences (
      user_id ${text} primary key references users (id) on delete cascade,
      provider ${text} not null,
      cause ${text} not null,
      since bigint not null)`,
    `create index directory_absences_provider on directory_absences (provider)`,
    `create table directory_groups (
      document_id ${text} primary key references documents (id) on delete cascade,
      provider ${text} not null,
      subject ${text} not null)`,
    `create unique index directory_groups_subject on directory_groups (provider, subject)`,
  ],
}
