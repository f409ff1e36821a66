/** THE list of protocol endpoints. */

import { createAuthorizeRules } from '../authorize-rules.ts'
import { createAuthenticateClient } from '../client-auth/authenticate.ts'
import { createClientAuthMethods } from '../client-auth/index.ts'
import { createClientKeys } from '../client-keys.ts'
import { createPreflights } from '../cors.ts'
import { createDpop } from '../dpop.ts'
import { createGrants } from '../grants/index.ts'
import type { Lists } from '../metadata.ts'
import type { OidcParts } from '../parts.ts'
import { createResponseModes } from '../response-modes/index.ts'
import { authorize } from './authorize.ts'
import { backchannelAuthentication } from './backchannel-authentication.ts'
import { deviceAuthorization } from './device-authorization.ts'
import { discovery } from './discovery.ts'
import type { Endpoint } from './endpoint.ts'
import { introspect } from './introspect.ts'
import { jwks } from './jwks.ts'
import { logout } from './logout.ts'
import { par } from './par.ts'
import { protectedResource } from './protected-resource.ts'
import { revoke } from './revoke.ts'
import { token } from './token.ts'
import { userinfo } from './userinfo.ts'

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
