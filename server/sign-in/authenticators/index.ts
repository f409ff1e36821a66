/** THE list of authenticators. */

import type { CredentialsArea } from '#server/credentials/open.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { UsersArea } from '#server/users/open.ts'
import type { Step } from '../flow/step.ts'
import type { Administrators } from '../messages/administrators.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import type { SignInOrganizations } from '../sign-in-organizations.ts'
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

export interface AuthenticatorNeeds {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keyring: Keyring
  readonly messaging: Pick<Messaging, 'ready'>
  readonly users: Pick<UsersArea, 'store' | 'invitations'> & {
    readonly post: Pick<UsersArea['post'], 'statements' | 'wake'>
  }
  readonly credentials: Pick<
    CredentialsArea,
    'passwords' | 'factors' | 'passkeys' | 'devices' | 'approvals' | 'codeKey'
  >
  readonly sessions: Sessions
  readonly administrators: Administrators
  readonly organizations: SignInOrganizations
  /** Links in messages begin with it, whatever a request says. */
  readonly baseUrl: string
}

export const createAuthenticators = (needs: AuthenticatorNeeds): Step[] => {
  const { pages, storage, clock, keyring, messaging, sessions, administrators } = needs
  const { organizations, baseUrl } = needs
  const { store: users, invitations, post } = needs.users
  const { passwords, factors, passkeys, devices, approvals, codeKey } = needs.credentials
  const opening = { pages, clock, messaging, post, factors, users, sessions, administrators }
  return [
    identify({ pages, passkeys, users }),
    usernamePassword({ pages, passkeys }),
    password({ pages }),
    totp({ pages, storage, clock, keyring, factors }),
    webauthn({ pages, passkeys }),
    webauthnPasswordless({ pages, passkeys, users }),
    recoveryCode({ pages, storage, factors }),
    emailCode({ ...opening, codeKey }),
    smsCode({ ...opening, codeKey }),
    emailLink({ ...opening, baseUrl }),
    push({ pages, clock, messaging, post, devices, approvals }),
    qr({ pages, clock, users, approvals, baseUrl }),
    resetPassword({ pages, storage, passwords, sessions, users, clock, administrators }),
    register({ pages, storage, clock, users, passwords, invitations, factors, messaging }),
    terms({ pages, users, clock }),
    organization({ pages, organizations }),
  ]
}
