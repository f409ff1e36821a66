/** Of an event that an administrator caused who acts as a user: that user. */

import type { Migration } from './migration.ts'

export const onBehalfOf: Migration = {
  name: '0020-on-behalf-of',
  statements: ({ text }) => [`alter table audit_events add column on_behalf_of ${text}`],
}
