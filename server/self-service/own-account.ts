/** The operations of users on their own account, shared by JSON API and pages. */

import type { Consents } from '#server/oidc/consent/consents.ts'
import type { RevokeConsent } from '#server/oidc/consent/revoke-consent.ts'
import type { OwnAgents } from './agents.ts'
import type { OwnCredentials } from './credentials/credentials.ts'
import type { Enrolments } from './credentials/enrolments.ts'
import type { ChangePassword } from './credentials/password.ts'
import type { OwnData } from './data.ts'
import type { OwnIdentities } from './identities.ts'
import type { ChangeProfile } from './profile/profile.ts'
import type { OwnSessions } from './sessions.ts'
import type { OwnSharing } from './sharing.ts'

export interface OwnAccount {
  readonly changeProfile: ChangeProfile
  readonly changePassword: ChangePassword
  readonly credentials: OwnCredentials
  readonly enrolments: Enrolments
  readonly sessions: OwnSessions
  readonly identities: OwnIdentities
  readonly consents: Consents
  readonly revokeConsent: RevokeConsent
  readonly sharing: OwnSharing
  readonly agents: OwnAgents
  readonly data: OwnData
}
