/**
 * Claims that Keycloak's adapters read beside those that our tokens have anyway (`azp`, `realm_access`, `resource_access`,
 * `sid`, and `authorization` of an RPT), for realms with `keycloakPaths`. Adapters refuse a token without the right `typ`.
 */

import { allowedScopes } from '../access/scopes.ts'
import type { Claims } from '../claims/mapper.ts'
import type { TokenClient } from '../client.ts'
import type { Issuer } from '../issuers.ts'

const types = { access: 'Bearer', id: 'ID' } as const

/** The party that the token is about. */
interface Subject {
  readonly client: TokenClient
  readonly username: string
}

/**
 * Keycloak gives clients the scope `profile` without being asked, and its applications rely on the username. A client that
 * may not have that scope, or whose users are asked for consent, gets the username by the scope alone.
 */
const usernameOf = ({ client, username }: Subject): Claims =>
  allowedScopes(client).has('profile') && !client.doc.consentRequired
    ? { preferred_username: username }
    : {}

export const keycloakClaims = (
  { settings }: Issuer,
  target: keyof typeof types,
  subject: Subject,
): Claims => (settings.keycloakPaths ? { typ: types[target], ...usernameOf(subject) } : {})

/** As Keycloak names the user of a service account. */
export const serviceAccountName = ({ clientId }: TokenClient): string =>
  `service-account-${clientId.toLowerCase()}`
