/** THE list of protocol endpoints. */

import { authorize } from './authorize/authorize.ts'
import { createAuthorizeRules } from './authorize/authorize-rules.ts'
import { par } from './authorize/par.ts'
import { createResponseModes } from './authorize/response-modes/index.ts'
import { createAuthenticateClient } from './client-auth/authenticate.ts'
import { createClientKeys } from './client-auth/client-keys.ts'
import { createClientAuthMethods } from './client-auth/index.ts'
import { createPreflights } from './cors.ts'
import { backchannelAuthentication } from './decoupled/backchannel-authentication.ts'
import { deviceAuthorization } from './decoupled/device-authorization.ts'
import { discovery } from './discovery/discovery.ts'
import { jwks } from './discovery/jwks.ts'
import type { Lists } from './discovery/metadata.ts'
import { protectedResource } from './discovery/protected-resource.ts'
import type { Endpoint } from './endpoint.ts'
import { logout } from './logout/logout.ts'
import type { OidcParts } from './parts.ts'
import { createDpop } from './token/dpop.ts'
import { createGrants } from './token/grants/index.ts'
import { introspect } from './token/introspect.ts'
import { revoke } from './token/revoke.ts'
import { token } from './token/token.ts'
import { userinfo } from './token/userinfo.ts'

export const createEndpoints = (parts: OidcParts): readonly Endpoint[] => {
  const grants = createGrants(parts)
  const clientKeys = createClientKeys(parts)
  const clientAuthMethods = createClientAuthMethods({ ...parts, clientKeys })
  const responseModes = createResponseModes(parts)
  const authenticateClient = createAuthenticateClient(clientAuthMethods, parts.recorder)
  const preflights = createPreflights(parts.issuers)
  const { locales } = parts.pages
  const lists = (): Lists => ({ endpoints, grants, clientAuthMethods, responseModes, locales })
  const dpop = createDpop(parts)
  const shared = { ...parts, clientKeys, grants, authenticateClient, preflights, dpop }
  const rules = createAuthorizeRules(shared, responseModes)
  const endpoints: readonly Endpoint[] = [
    discovery(shared, lists),
    jwks(shared),
    authorize({ ...shared, responseModes }, rules),
    par(shared, rules),
    token(shared),
    deviceAuthorization(shared),
    backchannelAuthentication(shared),
    userinfo(shared),
    logout(shared),
    introspect(shared),
    revoke(shared),
    protectedResource(shared),
  ]
  return endpoints
}
