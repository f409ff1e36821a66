/** Names of users at service providers are found by their user, for an erasure and for what deleted users left. */

import type { Migration } from './migration.ts'

export const samlSessionsByUser: Migration = {
  name: '0045-saml-sessions-by-user',
  statements: () => ['create index saml_sessions_user on saml_sessions (user_id)'],
}
