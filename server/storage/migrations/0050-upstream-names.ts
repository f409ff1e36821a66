/** Sessions that came from an identity provider are found by the name that its logout gives. */

import type { Migration } from './migration.ts'

export const upstreamNames: Migration = {
  name: '0050-upstream-names',
  statements: ({ text }) => [
    `alter table broker_sessions add column upstream_name ${text}`,
    'create index broker_sessions_name on broker_sessions (provider, upstream_name)',
  ],
}
