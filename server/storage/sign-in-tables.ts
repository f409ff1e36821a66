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
