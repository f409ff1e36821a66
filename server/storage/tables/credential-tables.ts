/** The rows of what users prove themselves with. */

export interface CredentialRow {
  id: string
  realm: string
  user_id: string
  type: string
  label: string | null
  priority: number
  /** A PHC hash or a sealed value; never leaves the server. */
  secret: string
  created_at: number
  /** The last thing that was accepted of it: the time step of a code, the counter of a key. */
  used: number
}

export interface PasswordHistoryRow {
  id: string
  user_id: string
  hash: string
  created_at: number
}

/** Failed sign-ins of one user or one address, and attempts under way. */
export interface LoginGuardRow {
  realm: string
  subject: string
  failures: number
  reserved: number
  reserved_at: number
  locked_until: number
  last_failure_at: number
}

export interface PushTokenRow {
  id: string
  realm: string
  user_id: string
  device_id: string
  platform: 'android' | 'ios'
  driver: string
  /** JSON of a sealed value. */
  token: string
  /** Its last characters, by which a person tells devices apart. */
  token_hint: string
  created_at: number
  last_seen_at: number | null
}
