/** THE list of what can be required of a user at a sign-in, in the order in which it is asked. */

import type { FactorParts } from '../flow/factor-parts.ts'
import type { RequiredAction } from '../flow/step.ts'
import { configureTotp } from './configure-totp.ts'
import { configureRecoveryCodes } from './recovery-codes.ts'
import { registerPasskey } from './register-passkey.ts'
import { acceptTerms } from './terms.ts'
import { updatePassword } from './update-password.ts'
import { updateEmail, updateProfile, verifyProfile } from './update-profile.ts'
import { verifyEmail } from './verify-email.ts'

export const createRequiredActions = (parts: FactorParts): RequiredAction[] => [
  acceptTerms(parts),
  updatePassword(parts),
  updateProfile(parts),
  verifyProfile(parts),
  updateEmail(parts),
  verifyEmail(parts),
  configureTotp(parts),
  registerPasskey(parts),
  configureRecoveryCodes(parts),
]
