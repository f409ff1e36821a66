/** The list of weak choices. They are warnings: --ignore switches a code off. */

import { clientChoices } from './clients.ts'
import { identityProviderChoices } from './identity-providers.ts'
import { idleAuthorization } from './idle-authorization.ts'
import { adminInitialPassword } from './initial-passwords.ts'
import { openRegistration } from './registration.ts'
import { samlClientChoices } from './saml-clients.ts'
import { settingsChoices } from './settings.ts'
import { unknownNames } from './unknown-names.ts'
import { unsentTemplates } from './unsent-templates.ts'
import type { WeakChoice } from './weak-choice.ts'
import { trustChoices } from './workload-identities.ts'

export const weakChoices: readonly WeakChoice[] = [
  ...idleAuthorization,
  unknownNames,
  unsentTemplates,
  ...clientChoices,
  ...samlClientChoices,
  ...identityProviderChoices,
  ...settingsChoices,
  openRegistration,
  ...trustChoices,
  adminInitialPassword,
]
