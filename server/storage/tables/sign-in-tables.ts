/** The rows of tables about signing in; see `tables.ts`. */

/** A sign-in in progress. */
export interface SignInRow {
  /** SHA-256 of the handle that the browser has. */
  id: string
  realm: string
  /** Digest of the cookie of the browser that it began in. */
  browser: string
  user_id: string | null
  /** JSON. */
  state: string
  version: number
  created_at: number
  expires_at: number
}

/** A browser that a user has signed in with. */
export interface KnownDeviceRow {
  user_id: string
  /** Digest of the cookie of the browser, another one for each user. */
  device: string
  last_seen: number
}

/** An invitation by mail to an organization. */
export interface InvitationRow {
  id: string
  realm: string
  organization_id: string
  email: string
  email_key: string
  /** SHA-256 of the token in the link. */
  digest: string
  /** The user who has used it. */
  accepted_by: string | null
  created_at: number
  expires_at: number
}

/** A change of a user's address that the old address can undo. */
export interface AddressUndoRow {
  id: string
  realm: string
  user_id: string
  /** The old address, and whether it was verified. */
  email: string
  email_verified: number
  /** SHA-256 of the token in the link. */
  digest: string
  created_at: number
  expires_at: number
}

/** A device on its way to become a factor: first a token for the user, then a challenge for the device. */
export interface DeviceEnrolmentRow {
  /** SHA-256 of the token. */
  id: string
  realm: string
  user_id: string
  label: string | null
  /** Both from when the token was used. */
  device_id: string | null
  challenge: string | null
  expires_at: number
}

/** A sign-in that its user allows elsewhere than where it goes on. */
export interface ApprovalRow {
  id: string
  realm: string
  kind: 'push' | 'qr'
  /** The asked user; for a QR code the user who answered. */
  user_id: string | null
  /** USED: the sign-in has gone on by it. */
  status: 'PENDING' | 'APPROVED' | 'DENIED' | 'EXPIRED' | 'USED'
  /** What the sign-in page shows, and who allows it has to tell. */
  number: string
  /** Wrong numbers so far. */
  tries: number
  /** Digest of the cookie of the browser that signs in. */
  browser: string
  /** The session that this browser has already. */
  sid: string | null
  client_name: string | null
  ip_address: string
  created_at: number
  expires_at: number
}

/** Something that a user is to sign with a key, exactly as it is. */
export interface TransactionRow {
  id: string
  realm: string
  /** The client that made it, by id. */
  client_id: string
  user_id: string
  type: 'signing' | 'consent'
  status: 'PENDING' | 'SIGNED' | 'CONSUMED'
  payload: string
  display_text: string
  /** What is signed: `transactionHash`, base64url. */
  hash: string
  /** The credential that signed it. */
  credential_id: string | null
  created_at: number
  expires_at: number
}

/** The erasure request of a managed user. */
export interface ErasureRequestRow {
  user_id: string
  realm: string
  requested_at: number
}

/** A bound on messages; see `users/messages/message-limits.ts`. */
export interface MessageLimitRow {
  realm: string
  /** Which bound, and a digest of whose. */
  subject: string
  /** When nothing of it is used up any more. */
  full_at: number
}
