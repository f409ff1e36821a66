/** A client that acts for itself (RFC 6749 §4.4). No refresh token (§4.4.3), no id token: there is no user. */

import type { Grant } from './grant.ts'

export const clientCredentials: Grant = {
  name: 'client_credentials',
  clientOnly: true,
  event: 'CLIENT_LOGIN',
  parameters: {},
  handle: async ({ scope, resources }) => ({ scope, resources }),
}
