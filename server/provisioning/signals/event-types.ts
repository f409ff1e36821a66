/** The security events that the transmitter sends (CAEP 1.0 §3, SSF 1.0 §8.1.4), and the audit events they come of. */

import type { EventType } from '#schemas/wire/event-types.ts'

export const sessionRevoked = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked'
export const credentialChange =
  'https://schemas.openid.net/secevent/caep/event-type/credential-change'
export const verification = 'https://schemas.openid.net/secevent/ssf/event-type/verification'
export const streamUpdated = 'https://schemas.openid.net/secevent/ssf/event-type/stream-updated'

/** Those that a receiver may ask for; the two of the framework come without being asked for. */
export const supportedEvents: readonly string[] = [sessionRevoked, credentialChange]

type ChangeType = 'create' | 'update' | 'delete'

/** The names of CAEP for our credentials (CAEP 1.0 §3.3.1). */
const credentialTypes: Readonly<Record<string, string>> = {
  otp: 'app',
  totp: 'app',
  push: 'app',
  'recovery-codes': 'pin',
  webauthn: 'fido2-roaming',
  'webauthn-passwordless': 'fido2-platform',
}

/** What happened to the credential; an update of one that is not a password is its enrolment. */
export const credentialChanges: Partial<
  Readonly<Record<EventType, { readonly password: ChangeType; readonly factor: ChangeType }>>
> = {
  UPDATE_CREDENTIAL: { password: 'update', factor: 'create' },
  RESET_PASSWORD: { password: 'update', factor: 'update' },
  REMOVE_CREDENTIAL: { password: 'delete', factor: 'delete' },
}

/** CAEP's words for a change that an audit event records; the detail of the event is the type of the credential. */
export const credentialChangeOf = (
  type: string,
  detail: string | null,
): { readonly change_type: ChangeType; readonly credential_type: string } | undefined => {
  const change = credentialChanges[type as keyof typeof credentialChanges]
  if (!change) return undefined
  const factor = credentialTypes[detail ?? '']
  return factor === undefined
    ? { change_type: change.password, credential_type: 'password' }
    : { change_type: change.factor, credential_type: factor }
}
