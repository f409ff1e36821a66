/** The rows of what the issuer remembers: requests in progress, grants and their tokens, consents. */

/** An authorize request that waits for its user; by the digest of its handle. */
export interface AuthorizationRow {
  id: string
  realm: string
  client_id: string
  data: string
  expires_at: number
}

export type PushedRequestRow = AuthorizationRow

/** A request to sign out that waits for its browser; by the digest of its handle. */
export type LogoutRequestRow = Omit<AuthorizationRow, 'client_id'>

/** What one authorization issued. */
export interface TokenGrantRow {
  id: string
  realm: string
  client_id: string
  user_id: string | null
  /** The session it hangs on; an offline grant outlives its session. */
  sid: string | null
  offline: number
  scope: string
  data: string
  created_at: number
  last_used_at: number
  expires_at: number
}

export interface AuthorizationCodeRow {
  id: string
  realm: string
  client_id: string
  user_id: string | null
  grant_id: string
  data: string
  expires_at: number
  used_at: number | null
}

export interface RefreshTokenRow {
  id: string
  grant_id: string
  created_at: number
  expires_at: number
  /** When it was used last. */
  used_at: number | null
  uses: number
}

export interface RevokedTokenRow {
  jti: string
  realm: string
  expires_at: number
}

export interface ReplayGuardRow {
  realm: string
  purpose: string
  id: string
  expires_at: number
}

/** A request that is approved elsewhere than where it was made (RFC 8628, CIBA). */
export interface CibaRequestRow {
  id: string
  realm: string
  client_id: string
  user_id: string | null
  data: string
  status: 'PENDING' | 'APPROVED' | 'DENIED'
  polled_at: number
  poll_interval: number
  expires_at: number
}

export interface DeviceRequestRow extends CibaRequestRow {
  user_code: string
}

export interface ConsentRow {
  realm: string
  user_id: string
  client_id: string
  scopes: string
  created_at: number
  updated_at: number
}

/** A client that a session led to, and that is to be told when it ends (OIDC Back-Channel Logout). */
export interface SessionClientRow {
  sid: string
  client_id: string
  realm: string
  user_id: string | null
  since: number
}

export interface NotBeforeRow {
  realm: string
  subject_kind: 'realm' | 'client' | 'user'
  subject_id: string
  at: number
}
