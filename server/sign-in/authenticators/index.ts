/** THE list of authenticators. */

import type { CredentialsArea } from '#server/credentials/open.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { UsersArea } from '#server/users/open.ts'
import type { SignInBrokers } from '../brokers/open.ts'
import type { Step } from '../flow/step.ts'
import type { Administrators } from '../messages/administrators.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import type { SignInOrganizations } from '../sign-in-organizations.ts'
import { confirmLink } from './brokers/confirm-link.ts'
import { identityProvider } from './brokers/identity-provider.ts'
import { linkOrCreate } from './brokers/link-or-create.ts'
import { reviewProfile } from './brokers/review-profile.ts'
import { emailCode } from './codes/email-code.ts'
import { emailLink } from './codes/email-link.ts'
import { recoveryCode } from './codes/recovery-code.ts'
import { smsCode } from './codes/sms-code.ts'
import { totp } from './codes/totp.ts'
import { push } from './devices/push.ts'
import { qr } from './devices/qr.ts'
import { webauthn } from './devices/webauthn.ts'
import { webauthnPasswordless } from './devices/webauthn-passwordless.ts'
import { identify } from './names/identify.ts'
import { register } from './names/register.ts'
import { organization } from './organization.ts'
import { password } from './passwords/password.ts'
import { resetPassword } from './passwords/reset-password.ts'
import { usernamePassword } from './passwords/username-password.ts'
import { terms } from './terms.ts'

export interface AuthenticatorNeeds {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keyring: Keyring
  readonly messaging: Pick<Messaging, 'ready'>
  readonly users: Pick<UsersArea, 'store' | 'invitations' | 'links' | 'addressUndos'> & {
    readonly post: Pick<UsersArea['post'], 'statements' | 'wake'>
  }
  readonly credentials: Pick<
    CredentialsArea,
    'passwords' | 'factors' | 'passkeys' | 'devices' | 'approvals' | 'codeKey'
  >
  readonly sessions: Sessions
  readonly administrators: Administrators
  readonly organizations: SignInOrganizations
  readonly brokers: Pick<SignInBrokers, 'providers' | 'newcomers' | 'accounts'>
  /** Links in messages begin with it, whatever a request says. */
  readonly baseUrl: string
}

export const createAuthenticators = (needs: AuthenticatorNeeds): Step[] => {
  const { pages, storage, clock, keyring, messaging, sessions, administrators } = needs
  const { organizations, baseUrl } = needs
  const { providers, newcomers, accounts } = needs.brokers
  const { store: users, invitations, links, addressUndos, post } = needs.users
  const { passwords, factors, passkeys, devices, approvals, codeKey } = needs.credentials
  const taking = { storage, sessions, links, addressUndos }
  const opening = { ...taking, pages, clock, messaging, post, factors, users, administrators }
  return [
    identify({ pages, passkeys, users, providers }),
    usernamePassword({ pages, passkeys, providers }),
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
    resetPassword({ ...taking, pages, passwords, users, clock, administrators }),
    register({
      pages,
      storage,
      clock,
      users,
      passwords,
      invitations,
      factors,
      messaging,
      addressUndos,
    }),
    terms({ pages, users, clock }),
    organization({ pages, organizations }),
    identityProvider({ pages, providers }),
    reviewProfile({ pages, newcomers, users }),
    linkOrCreate({ pages, newcomers, accounts }),
    confirmLink({ pages, newcomers }),
  ]
}
