/** A stream knows a user by several names (RFC 9493): of those that the receiver added or removed, the last counts. */

import type { Migration } from './migration.ts'

export const signalSubjects: Migration = {
  name: '0081-signal-subjects',
  statements: () => [`alter table signal_subjects add column changed_at bigint not null default 0`],
}
