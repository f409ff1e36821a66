/** Users with several addresses are found by each of them (RFC 7644 §3.4.2.2): an index of those users alone. */

import type { Migration } from './migration.ts'

export const scimEmails: Migration = {
  name: '0080-scim-emails',
  statements: () => [
    // As the condition of server/provisioning/scim/in/users/conditions.ts says it.
    `create index users_more_emails on users (realm, id)
      where replace(attributes, '"emails":', '') <> attributes`,
  ],
}
