/** THE list of what can be required of a user at a sign-in, in the order in which it is asked. */

import type { FactorParts } from '../factor-parts.ts'
import type { RequiredAction } from '../step.ts'
import { configureTotp } from './configure-totp.ts'
import { updatePassword } from './update-password.ts'

export const createRequiredActions = (parts: FactorParts): RequiredAction[] => [
  updatePassword(parts),
  configureTotp(parts),
]
