/** The security events that the transmitter sends (CAEP 1.0 §3, SSF 1.0 §8.1.4), and the audit events they come of. */

import type { EventType } from '#schemas/wire/event-types.ts'

export const sessionRevoked = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked'
export const credentialChange =
  'https://schemas.openid.net/secevent/caep/event-type/credential-change'
export const verification = 'https://schemas.openid.net/secevent/ssf/event-type/verification'

/** Those that a receiver may ask for; a verification comes when it is asked for. */
export const supportedEvents: readonly string[] = [sessionRevoked, credentialChange]

/** What happened to the credential (CAEP 1.0 §3.3.1). */
export const credentialChanges: Partial<
  Readonly<Record<EventType, 'create' | 'update' | 'revoke'>>
> = {
  UPDATE_CREDENTIAL: 'update',
  RESET_PASSWORD: 'update',
  REMOVE_CREDENTIAL: 'revoke',
}

/** The names of CAEP for our credentials. */
export const credentialTypes: Readonly<Record<string, string>> = {
  password: 'password',
  otp: 'app',
  totp: 'app',
  push: 'app',
  'recovery-codes': 'pin',
  webauthn: 'fido2-roaming',
  'webauthn-passwordless': 'fido2-platform',
}
