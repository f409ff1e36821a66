/** THE list of what can be required of a user at a sign-in, in the order in which it is asked. */

import type { CredentialsArea } from '#server/credentials/open.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { UsersArea } from '#server/users/open.ts'
import type { RequiredAction } from '../flow/step.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { configureTotp } from './configure-totp.ts'
import { configureRecoveryCodes } from './recovery-codes.ts'
import { registerPasskey } from './register-passkey.ts'
import { acceptTerms } from './terms.ts'
import { updatePassword } from './update-password.ts'
import { updateEmail, updateProfile, verifyProfile } from './update-profile.ts'
import { verifyEmail } from './verify-email.ts'

export interface RequiredActionNeeds {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keyring: Keyring
  readonly messaging: Pick<Messaging, 'ready'>
  readonly users: Pick<UsersArea, 'store' | 'addressNotice'> & {
    readonly post: Pick<UsersArea['post'], 'statements' | 'wake'>
  }
  readonly credentials: Pick<CredentialsArea, 'passwords' | 'passkeys' | 'codeKey'>
  readonly sessions: Sessions
}

export const createRequiredActions = (needs: RequiredActionNeeds): RequiredAction[] => {
  const { pages, storage, clock, keyring, messaging, sessions } = needs
  const { store: users, addressNotice, post } = needs.users
  const { passwords, passkeys, codeKey } = needs.credentials
  return [
    acceptTerms({ pages, users, clock }),
    updatePassword({ pages, storage, passwords, sessions, users, clock }),
    updateProfile({ pages, users, clock, addressNotice }),
    verifyProfile({ pages, users, clock, addressNotice }),
    updateEmail({ pages, users, clock, addressNotice }),
    verifyEmail({ pages, users, clock, messaging, post, codeKey }),
    configureTotp({ pages, storage, keyring, users, clock }),
    registerPasskey({ pages, storage, users, clock, passkeys }),
    configureRecoveryCodes({ pages, storage, users, clock }),
  ]
}
