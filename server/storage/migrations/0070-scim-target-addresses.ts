/** The address that the ids of a SCIM target belong to: another address has other users under the same ids. */

import type { Migration } from './migration.ts'

export const scimTargetAddresses: Migration = {
  name: '0070-scim-target-addresses',
  statements: ({ text }) => [`alter table scim_targets add column base_url ${text}`],
}
