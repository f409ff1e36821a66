/** The rows of users' accounts at identity providers and in directories. */

export interface FederatedLinkRow {
  id: string
  realm: string
  /** The id of the provider's document, which a rename of its alias keeps. */
  provider: string
  /** The alias at the time of the link: a provider that replaces a deleted one under it takes over the link. */
  alias: string
  issuer: string
  subject: string
  user_id: string
  /** The name of the account there, for people to read. */
  username: string | null
  created_at: number
  last_login_at: number | null
  /** JSON of the sealed tokens (`storeToken`). */
  tokens: string | null
}
