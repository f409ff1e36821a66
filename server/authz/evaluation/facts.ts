/** The facts that policies are asked about: read once for a request, whatever the number of policies. */

import { foldName } from '#schemas/text/names.ts'
import { isUuid } from '#server/platform/ids.ts'

/** The requesting party, if it is a user. */
export interface FactUser {
  readonly id: string
  readonly username: string
}

export interface Facts {
  readonly user?: FactUser | undefined
  /** Names of realm roles, composites resolved. */
  readonly roles: ReadonlySet<string>
  /** Client roles as `client/role`, composites resolved. */
  readonly clientRoles: ReadonlySet<string>
  /** Paths of the groups that the user is directly in. */
  readonly groups: ReadonlySet<string>
  /** The client that asks. */
  readonly clientId?: string | undefined
  /** Epoch milliseconds. */
  readonly now: number
  /** Scopes that owners have opened, by the id of the resource, each with the reason; '' is the resource without scopes. */
  readonly shared: ReadonlyMap<string, ReadonlyMap<string, string>>
}

/**
 * Whether a name in configuration means this user: an id, or a username. A text with the form of an id is never compared
 * with usernames, since a user could choose the id of another user as username.
 */
export const isNamed = (name: string, { id, username }: FactUser): boolean =>
  isUuid(name) ? name === id : foldName(name) === foldName(username)
