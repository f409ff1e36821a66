/**
 * The most that callers may store at run time. Resource servers and users make these entries themselves, so that without a
 * limit one client or one user could fill the database. Configuration is not limited here.
 */

export interface AuthzLimits {
  /** Resources of a resource server that may be there for one more to be registered. */
  readonly resourcesOfClient: number
  /** The same, of one owner at one resource server. */
  readonly resourcesOfOwner: number
  /** Scopes of a resource server, which come to be with its resources and stay when they go. */
  readonly scopesOfClient: number
  /** Tickets of a resource server that wait for their five minutes. */
  readonly ticketsOfClient: number
  /** Requests of one user that wait for owners. */
  readonly requestsOfRequester: number
  /** Requests of all users that wait for one owner. */
  readonly requestsOfOwner: number
  /** Policies of owners about one resource. */
  readonly policiesOfResource: number
}

export const authzLimits: AuthzLimits = {
  resourcesOfClient: 100_000,
  resourcesOfOwner: 10_000,
  scopesOfClient: 10_000,
  ticketsOfClient: 10_000,
  requestsOfRequester: 100,
  requestsOfOwner: 1000,
  policiesOfResource: 100,
}
