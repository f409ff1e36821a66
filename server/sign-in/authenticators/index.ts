/** THE list of authenticators. */

import type { FactorParts } from '../flow/factor-parts.ts'
import type { Step } from '../flow/step.ts'
import { emailCode } from './email-code.ts'
import { emailLink } from './email-link.ts'
import { identify } from './identify.ts'
import { organization } from './organization.ts'
import { password } from './password.ts'
import { push } from './push.ts'
import { qr } from './qr.ts'
import { recoveryCode } from './recovery-code.ts'
import { register } from './register.ts'
import { resetPassword } from './reset-password.ts'
import { smsCode } from './sms-code.ts'
import { terms } from './terms.ts'
import { totp } from './totp.ts'
import { usernamePassword } from './username-password.ts'
import { webauthn } from './webauthn.ts'
import { webauthnPasswordless } from './webauthn-passwordless.ts'

export const createAuthenticators = (parts: FactorParts): Step[] => [
  identify(parts),
  usernamePassword(parts),
  password(parts),
  totp(parts),
  webauthn(parts),
  webauthnPasswordless(parts),
  recoveryCode(parts),
  emailCode(parts),
  smsCode(parts),
  emailLink(parts),
  push(parts),
  qr(parts),
  resetPassword(parts),
  register(parts),
  terms(parts),
  organization(parts),
]
