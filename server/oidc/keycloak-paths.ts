/** Keycloak's paths of our endpoints. Its protection API and its UMA metadata have the same paths here. */

import type { KeycloakPaths } from '#server/tokens/keycloak/paths.ts'
import { authorizePath } from './authorize/authorize-protocol.ts'
import { jwksPath } from './discovery/jwks.ts'

const below = '/protocol/openid-connect'

export const keycloakPaths: KeycloakPaths = {
  [authorizePath]: `${below}/auth`,
  '/token': `${below}/token`,
  '/userinfo': `${below}/userinfo`,
  [jwksPath]: `${below}/certs`,
  '/logout': `${below}/logout`,
  '/introspect': `${below}/token/introspect`,
  '/revoke': `${below}/revoke`,
  '/device': `${below}/auth/device`,
  '/par': `${below}/ext/par/request`,
  '/backchannel-authentication': `${below}/ext/ciba/auth`,
}
