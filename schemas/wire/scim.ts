/** Tokens of senders of SCIM, as the admin API lists them. */

/** What a token may act on. */
export const scimScopes = ['users', 'groups'] as const
export type ScimScope = (typeof scimScopes)[number]

/** The sender of a token that names none. */
export const defaultScimSender = 'default'

/** A sender as the actor of audit events, and as the owner of what no estate declares. No source has a colon in its name. */
export const scimOwner = (sender: string): string => `scim:${sender}`

export interface ScimTokenRecord {
  readonly id: string
  /** When it was made, in epoch milliseconds. */
  readonly timestamp: number
  /** Lifetime in seconds; 0 means unlimited. */
  readonly expiration: number
  readonly label: string | null
  /** The sender; its tokens share the external ids of its users and groups. */
  readonly sender: string
  readonly scopes: readonly ScimScope[]
  readonly lastUsedAt: number | null
}
