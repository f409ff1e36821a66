/** The authenticators that a flow can name. The list is the list at /authenticators. */

export interface AuthenticatorEntry {
  readonly id: string
  readonly displayName: string
  readonly description: string
}

const entry = (id: string, displayName: string, description: string): AuthenticatorEntry => ({
  id,
  displayName,
  description,
})

export const authenticators: readonly AuthenticatorEntry[] = [
  entry('identify', 'Username or email', 'Asks for the username or address.'),
  entry('username-password', 'Username and password', 'Asks for both on one page.'),
  entry('password', 'Password', 'Asks for the password of the identified user.'),
  entry('totp', 'One-time code', 'A code from an authenticator app.'),
  entry('webauthn', 'Security key', 'A passkey or security key as second factor.'),
  entry('webauthn-passwordless', 'Passkey', 'A passkey instead of a password.'),
  entry('email-code', 'Code by mail', 'A code sent to the email address.'),
  entry('sms-code', 'Code by SMS', 'A code sent to the phone.'),
  entry('email-link', 'Link by mail', 'A link sent to the email address.'),
  entry('recovery-code', 'Recovery code', 'One of the codes kept for emergencies.'),
  entry('push', 'Approval on a device', 'A question on an enrolled device.'),
  entry('qr', 'QR code', 'A code scanned by an enrolled device.'),
  entry('terms', 'Terms and conditions', 'Consent to the terms.'),
  entry('organization', 'Organization', 'A choice among the organizations of the user.'),
  entry('register', 'Registration', 'Makes an account of what a new user gives.'),
  entry('reset-password', 'New password', 'Asks for a new password.'),
  entry('identity-provider', 'Identity provider', 'A sign-in at an identity provider.'),
  entry('broker-review-profile', 'Broker: profile', 'Shows the profile from an identity provider.'),
  entry(
    'broker-link-or-create',
    'Broker: link or create',
    'Makes an account where none has the address; a found one is linked after broker-confirm-link.',
  ),
  entry(
    'broker-confirm-link',
    'Broker: confirm the link',
    'Names the account that has the address; what follows it proves that account.',
  ),
  entry('condition-user-has-factor', 'If the user has a factor', 'Lets the sub-flow run if so.'),
  entry('condition-role', 'If the user has a role', 'Lets the sub-flow run if so.'),
  entry('condition-group', 'If the user is in a group', 'Lets the sub-flow run if so.'),
  entry('condition-client', 'If it is for a client', 'Lets the sub-flow run if so.'),
  entry('condition-acr', 'If a level is asked for', 'Lets the sub-flow run if so.'),
  entry('condition-network', 'If it comes from a network', 'Lets the sub-flow run if so.'),
  entry('condition-new-device', 'If the device is new', 'Lets the sub-flow run if so.'),
  entry('condition-one-factor', 'If one factor was proved', 'Lets the sub-flow run if so.'),
]

export const authenticatorIds: ReadonlySet<string> = new Set(authenticators.map(({ id }) => id))

/** Authenticators that identify the user; all others need an identified user. */
export const identifying: ReadonlySet<string> = new Set([
  'identify',
  'username-password',
  'webauthn-passwordless',
  'qr',
  'register',
  'identity-provider',
  'broker-link-or-create',
  'broker-confirm-link',
])

/** Those that show that it is the user. A name that no code answers to is not among them. */
const proving: ReadonlySet<string> = new Set([
  'username-password',
  'password',
  'totp',
  'webauthn',
  'webauthn-passwordless',
  'email-code',
  'sms-code',
  'email-link',
  'recovery-code',
  'push',
  'qr',
  'register',
  'identity-provider',
  'broker-link-or-create',
])

export const isProof = (id: string): boolean => proving.has(id)

/**
 * Those that users who have none set up during the sign-in, once something else has proved who they are: an account could
 * otherwise be taken over by its name (CVE-2025-3910, CVE-2026-3429).
 */
export const enrollable: ReadonlySet<string> = new Set(['totp', 'webauthn'])

/** Those that tell or change something of the user: asked after a proof only. */
export const afterProof: ReadonlySet<string> = new Set(['terms', 'organization', 'reset-password'])

/** Authenticators for a user of an identity provider who has no account yet: for `firstLoginFlow` alone. */
export const firstLoginOnly: ReadonlySet<string> = new Set([
  'broker-review-profile',
  'broker-link-or-create',
  'broker-confirm-link',
])

export const isCondition = (id: string): boolean => id.startsWith('condition-')
